import { isDeepStrictEqual } from 'node:util';
import { isDecidedByHandler } from '../../api/authorization.ts';
import { CONFIRMED_FIELD } from '../../api/clusters/confirmed-endpoint.ts';
import { MIRRORED_ANNOTATION } from '../../api/domain-keys.ts';
import { type ApiObject, type Kind, objectKeyOf } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { invalid, invalidValue, required } from '../../api/status.ts';
import { isPrint } from '../../lib/text.ts';
import type { DeletionPropagation } from '../../objects/deletion-propagation.ts';
import type { Quota } from '../../objects/quota.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { type PublicView, servedObject } from '../../objects/stored-object.ts';
import type { Admit, ObjectWriter } from '../../objects/writer.ts';
import type { WriteOptions } from '../options/write-options.ts';
import { shapedObject } from '../representation.ts';
import { representationFor, type Views } from '../views.ts';
import { checkConfirmer, type EndpointAuthorParts, withEndpointAuthors } from './endpoint-authors.ts';

/** What the writing handlers share. */
export interface WriteParts extends EndpointAuthorParts {
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly propagation: DeletionPropagation;
  readonly views: Views;
  readonly publicView: PublicView;
  /** The checks of an object beyond the request's own permission. @throws ApiError */
  readonly checkAdmission: (request: ApiRequest, kind: Kind, object: ApiObject, old: ApiObject | undefined) => void;
  /** Warns of a binding that holds in clusters its writer may not expect. `before` is undefined on create. */
  readonly warnOfBinding: (request: ApiRequest, kind: Kind, object: ApiObject, before?: ApiObject) => Promise<void>;
  /** Ends what a deleted object has allowed, also one that a finalizer keeps, and warns of what does not end. */
  readonly afterDeletion: (request: ApiRequest, kind: Kind, deleted: ApiObject) => Promise<void>;
  /** For kinds whose objects the server completes when they are created; undefined for the others. */
  readonly completion: (request: ApiRequest, kind: Kind) => Completion | undefined;
  /** @throws ApiError 403 for a caller who may not create the object of the request. */
  readonly checkCreate: (request: ApiRequest) => void;
  /** @throws ApiError 403 for a caller who may not delete an object that cannot be read, also as its requester. */
  readonly checkUnreadableDelete: (request: ApiRequest) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Of one request that creates an object. */
export interface Completion {
  /** Returns the object with the fields that the server sets. Throws to refuse the creation. */
  readonly derive: (object: ApiObject) => ApiObject;
  readonly quota?: Quota;
  /** Called with the created object; not for a dry run. */
  readonly created: (object: ApiObject) => void;
}

export const partOf = ({ target }: ApiRequest): 'object' | 'status' =>
  target.subresource === 'status' ? 'status' : 'object';

/** How a write of an object is made that is no apply. */
export const writingOf = (request: ApiRequest, options: WriteOptions) => ({
  dryRun: options.dryRun,
  manager: managerOf(request, options),
  warn: request.warn,
});

/** AP-55: the name of the manager of a write: `fieldManager`, or the program in the `User-Agent`. */
export function managerOf({ userAgent }: ApiRequest, { fieldManager }: Pick<WriteOptions, 'fieldManager'>): string {
  if (fieldManager !== '') return fieldManager;
  let name = '';
  for (const rune of userAgent.split('/', 1)[0] ?? '') {
    if (!isPrint(rune)) continue;
    if (Buffer.byteLength(name) + Buffer.byteLength(rune) > MAX_MANAGER_BYTES) break;
    name += rune;
  }
  return name === '' ? 'unknown' : name;
}

const MAX_MANAGER_BYTES = 128;

/** The admission checks of a write, on the object that would be stored. */
export function admitWrite(parts: WriteParts, request: ApiRequest, kind: Kind): Admit {
  return (object, old) => {
    parts.checkAdmission(request, kind, object, old);
    checkConfirmer(parts, request.caller, kind, object, old);
  };
}

type Creation = Pick<Parameters<ObjectWriter['create']>[3], 'dryRun' | 'manager' | 'applied' | 'warn' | 'admit'>;

/** Creates the object that a request sends. */
export async function createStored(
  parts: WriteParts,
  request: ApiRequest,
  kind: Kind,
  sent: ApiObject,
  options: Creation,
): Promise<ApiResponse> {
  const completion = parts.completion(request, kind);
  // The pipeline has not authorized it; a completion would.
  if (completion === undefined && isDecidedByHandler(request.target)) {
    throw new Error(`no handler authorizes the creation of ${kind.resource}`);
  }
  const written = withEndpointAuthors(parts, request.caller, kind, sent);
  const object = await parts.writer.create(kind, objectKeyOf(request, kind), written, {
    admit: admitWrite(parts, request, kind),
    ...options,
    uid: mirroredUid(kind, sent),
    derive: completion?.derive,
    quota: completion?.quota,
    work: request.work,
  });
  request.nameObject(object.metadata.name ?? '');
  if (!options.dryRun) completion?.created(object);
  await parts.warnOfBinding(request, kind, object);
  return writeResponse(parts, request, kind, object, { code: 201 });
}

type Update = Pick<Parameters<ObjectWriter['update']>[3], 'dryRun' | 'manager' | 'applied' | 'warn' | 'preconditions'>;

/** Changes the object of a request, or its status. */
export async function updateStored(
  parts: WriteParts,
  request: ApiRequest,
  kind: Kind,
  change: (current: ApiObject) => ApiObject,
  options: Update,
): Promise<ApiResponse> {
  const objectKey = objectKeyOf(request, kind);
  let before: ApiObject | undefined;
  const object = await parts.writer.update(
    kind,
    objectKey,
    (current) => {
      before = current;
      return withEndpointAuthors(parts, request.caller, kind, change(current), current);
    },
    { ...options, part: partOf(request), admit: admitWrite(parts, request, kind), request, work: request.work },
  );
  if (!options.dryRun) await parts.propagation.finishDeletions(kind, objectKey);
  await parts.warnOfBinding(request, kind, object, before);
  return writeResponse(parts, request, kind, object, { code: 200, before });
}

/** Whether the caller sees the whole object, not only its public view. */
export function seesWhole(
  { views }: Pick<WriteParts, 'views'>,
  { caller, target }: ApiRequest,
  kind: Kind,
  { metadata }: ApiObject,
): boolean {
  const whole = views.whole(kind, caller, target);
  return whole === undefined || whole.admits(metadata.name ?? '', metadata.labels);
}

/**
 * The permission to write an object does not include to see all of it: the answer is the caller's view. It is the whole
 * object only if the caller may see it whole before and after the write: new labels must not reveal hidden fields.
 */
export function writeResponse(
  parts: Pick<WriteParts, 'views' | 'publicView'>,
  request: ApiRequest,
  kind: Kind,
  object: ApiObject,
  { code, before }: { code: number; before?: ApiObject | undefined },
): ApiResponse {
  const both = before === undefined ? [object] : [before, object];
  if (before !== undefined) warnOfWaitingChange(request, kind, object, before);
  const isWhole = both.every((one) => seesWhole(parts, request, kind, one));
  const shown = isWhole ? object : parts.publicView(object);
  const representation = representationFor(request, kind, parts.views);
  return { type: 'value', code, ...shapedObject(representation, servedObject(kind, shown)) };
}

/** The response shows the change, which is not in force yet: without a warning the client would rely on it. */
function warnOfWaitingChange({ warn }: ApiRequest, kind: Kind, object: ApiObject, before: ApiObject): void {
  if (!isClusters(kind)) return;
  const [spec, old] = [object, before].map((one) => (one.spec ?? {}) as Readonly<Record<string, unknown>>);
  if (spec?.[CONFIRMED_FIELD] === undefined || isDeepStrictEqual(spec, old)) return;
  warn(
    'the change of the endpoints waits for confirmation, and clients get the confirmed ones meanwhile: ' +
      `clusterpass confirm ${object.metadata.name}`,
  );
}

/** A UID of Kubernetes. Tokens have it as a claim. */
const UID = /^[A-Za-z0-9][\w.-]{0,127}$/;

/**
 * The UID of a copy of an object of a cluster: the one that it has there. Undefined for any other object, whose UID the
 * server chooses. The admission of the write refuses a caller who may not create copies.
 */
export function mirroredUid(kind: Kind, { metadata }: ApiObject): string | undefined {
  if (!kind.inCluster || metadata.annotations?.[MIRRORED_ANNOTATION] === undefined) return undefined;
  const { name = '', uid = '' } = metadata;
  if (uid === '') {
    throw invalid(kind, name, [
      required('metadata.uid', `an object with ${MIRRORED_ANNOTATION} has the UID of its cluster`),
    ]);
  }
  if (!UID.test(uid)) {
    const rule = 'must be at most 128 letters, digits, "-", "_" and ".", and begin with a letter or a digit';
    throw invalid(kind, name, [invalidValue('metadata.uid', uid, rule)]);
  }
  return uid;
}
