import { fleetKey, type Kind, objectKeyOf, storageKey } from '../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { type ApiError, notFound } from '../api/status.ts';
import type { ReadableObject } from '../objects/readable.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { parseResourceVersion } from './options/list-options.ts';
import { renderItem } from './representation.ts';
import { assertFormFits, representationFor, type Views } from './views.ts';

export interface GetParts {
  readonly reader: ObjectReader;
  readonly views: Views;
}

/** `check` throws to refuse the object that is shown. */
export async function getObject(
  { reader, views }: GetParts,
  request: ApiRequest,
  kind: Kind,
  check: (entry: ReadableObject | undefined) => void = () => {},
): Promise<ApiResponse> {
  assertFormFits(request, kind, 'object');
  await reader.reach(parseResourceVersion(request.query.get('resourceVersion') ?? ''));
  const objectKey = objectKeyOf(request, kind);
  const entry = reader.readable(kind).get(storageKey(kind, objectKey));
  check(entry);
  if (entry === undefined) throw reader.absence(kind, objectKey);
  if (entry.isExpired(views.now())) throw notFound(kind, objectKey.name);
  return { type: 'json', code: 200, json: renderItem(representationFor(request, kind, views), entry) };
}

export interface OwnedParts extends GetParts {
  /** The refusal of the policy for a request about all objects; undefined when a rule allows it. */
  readonly refusalOf: (request: ApiRequest) => ApiError | undefined;
}

/** `get` of a kind that callers list without a rule: they get what they list. */
export async function getListed(parts: OwnedParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const isListed = (entry: ReadableObject): boolean =>
    parts.views.rule(kind, request.caller, 'list')?.admits(entry.name, entry.labels) === true;
  await findForCaller(parts, request, kind, isListed);
  // Again: clients choose the names, and another object may have taken this one meanwhile.
  return getObject(parts, request, kind, (entry) => requireNamed(parts, request, entry, isListed));
}

/**
 * The object that the request names, if there is one, also after its expiry: a clock that is ahead must not prevent the
 * revocation of a token. The refusal is the same for an object that the caller may not name and for one that does not
 * exist (decision 12).
 */
export async function findForCaller(
  parts: OwnedParts,
  request: ApiRequest,
  kind: Kind,
  mayName: (entry: StoredObject) => boolean,
): Promise<StoredObject | undefined> {
  const { reader } = parts;
  await reader.catchUp();
  const entry = reader.find(kind, fleetKey(request.target.name));
  requireNamed(parts, request, entry, mayName);
  return entry;
}

function requireNamed<E extends ReadableObject>(
  { refusalOf }: OwnedParts,
  request: ApiRequest,
  entry: E | undefined,
  mayName: (entry: E) => boolean,
): void {
  const refusal = refusalOf(request);
  if (refusal !== undefined && (entry === undefined || !mayName(entry))) throw refusal;
}
