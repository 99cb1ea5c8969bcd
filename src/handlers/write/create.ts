import { setImmediate as nextTick } from 'node:timers/promises';
import { isDecidedByHandler } from '../../api/authorization.ts';
import type { Kind } from '../../api/kind.ts';
import { objectKeyOf } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { mirroredUid } from './mirrored-uid.ts';
import { checkNamespace, isLarge, readObject } from './read-body.ts';
import { admitWrite, managerOf, type WriteParts, writeResponse } from './write-parts.ts';

export async function createObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const options = parseCreateOptions(request.query);
  const sent = readObject(request, kind, options.fieldValidation);
  request.nameObject(sent.metadata.name ?? '');
  checkNamespace(sent, kind, request.target.namespace);
  if (isLarge(request)) await nextTick();
  const completion = parts.completion(request, kind);
  // The pipeline has not authorized it; a completion would.
  if (completion === undefined && isDecidedByHandler(request.target)) {
    throw new Error(`no handler authorizes the creation of ${kind.resource}`);
  }
  const object = await parts.writer.create(kind, objectKeyOf(request, kind), sent, {
    dryRun: options.dryRun,
    manager: managerOf(request, options),
    warn: request.warn,
    uid: mirroredUid(kind, sent),
    derive: completion?.derive,
    admit: admitWrite(parts, request, kind),
    quota: completion?.quota,
  });
  request.nameObject(object.metadata.name ?? '');
  if (!options.dryRun) completion?.created(object);
  await parts.warnOfBinding(request, kind, object);
  return writeResponse(parts, request, kind, object, { code: 201 });
}
