import { fleetKey, type Kind } from '../../api/kind.ts';
import type { SigningKeySpec } from '../../api/kinds/signing-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { conflict, forbiddenField, invalid, invalidValue } from '../../api/status.ts';
import { checkPreconditions, hasPreconditions } from '../../objects/preconditions.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { AlgorithmNotInUse, KeysAreExternal, type StoredKeyRing } from '../../tokens/keys/key-ring.ts';
import { TooManyKeys } from '../../tokens/keys/ring-state.ts';
import { type SigningKeyPublisher, signingKeyObject } from '../../tokens/keys/signing-key-publisher.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { deleteResponse } from '../write/delete.ts';
import { readObject } from '../write/read-body.ts';

interface SigningKeyParts {
  readonly kind: Kind;
  readonly reader: ObjectReader;
  readonly keyRing: Pick<StoredKeyRing, 'rotate' | 'revoke' | 'find'>;
  readonly publisher: Pick<SigningKeyPublisher, 'publish'>;
  /** Throws while the clock is known to be wrong: a new key gets the time from which it signs. */
  readonly requireRightClock: () => void;
}

/** Creating a key rotates the keys; deleting one revokes it. */
export function signingKeyVerbs(parts: SigningKeyParts): VerbOverrides {
  const create = (request: ApiRequest) => rotateKeys(parts, request);
  return new Map([[parts.kind, { create, delete: (request: ApiRequest) => revokeKey(parts, request) }]]);
}

/** Returns the key that signs now, or the one that will sign next. */
async function rotateKeys(parts: SigningKeyParts, request: ApiRequest): Promise<ApiResponse> {
  const { kind, reader, keyRing, publisher } = parts;
  const { dryRun, fieldValidation } = parseCreateOptions(request.query);
  const sent = readObject(request, kind, fieldValidation);
  const name = sent.metadata.name ?? '';
  if (name !== '') {
    throw invalid(kind, name, [forbiddenField('metadata.name', 'the server names a key by its id: omit the field')]);
  }
  parts.requireRightClock();
  const { force = false, algorithm } = (sent.spec ?? {}) as SigningKeySpec;
  const key = await asRefusal(kind, algorithm, () => keyRing.rotate({ algorithm, force, dryRun }));
  if (!dryRun) {
    request.annotate('clusterpass.dev/signing-key', key.kid);
    await publisher.publish();
  }
  const stored = dryRun ? undefined : reader.find(kind, fleetKey(key.kid));
  return { type: 'value', code: 201, value: stored?.object() ?? signingKeyObject(kind, key), schema: kind };
}

async function revokeKey(parts: SigningKeyParts, request: ApiRequest): Promise<ApiResponse> {
  const { kind, reader, keyRing, publisher } = parts;
  const { name } = request.target;
  const { dryRun, preconditions } = parseDeleteOptions(request);
  await reader.catchUp();
  const stored = reader.find(kind, fleetKey(name));
  // The ring has the keys. An object only shows one, and may be damaged or not be written yet.
  if (stored !== undefined) checkPreconditions(kind, stored.object(), preconditions);
  else if (keyRing.find(name) === undefined || hasPreconditions(preconditions))
    throw reader.absence(kind, fleetKey(name));
  if (!dryRun) {
    await asRefusal(kind, undefined, () => keyRing.revoke(name));
    request.annotate('clusterpass.dev/signing-key', name);
    await publisher.publish();
  }
  return deleteResponse(kind, name, stored?.uid);
}

async function asRefusal<T>(kind: Kind, algorithm: string | undefined, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof TooManyKeys || error instanceof KeysAreExternal) throw conflict(kind, '', error.message);
    if (error instanceof AlgorithmNotInUse) {
      throw invalid(kind, '', [invalidValue('spec.algorithm', algorithm, error.message)]);
    }
    throw error;
  }
}
