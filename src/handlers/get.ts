import type { Kind } from '../api/kind.ts';
import { storageKey } from '../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { notFound } from '../api/status.ts';
import type { ReadableObject } from '../objects/readable.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { parseResourceVersion } from './options/list-options.ts';
import { partialMetadata, renderItem, tableOf, viewOf } from './representation.ts';
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
  const { cluster = '', namespace, name } = request.target;
  assertFormFits(request, kind, 'object');
  await reachVersion(reader, request.query.get('resourceVersion') ?? '');
  const objectKey = { cluster: kind.inCluster ? cluster : '', namespace, name };
  const entry = reader.readable(kind).get(storageKey(kind, objectKey));
  check(entry);
  if (entry === undefined) throw reader.absence(kind, objectKey);
  if (entry.isExpired(views.now())) throw notFound(kind, name);
  const representation = representationFor(request, kind, views);
  const { form } = representation;
  if (form === 'object') return { type: 'json', code: 200, json: renderItem(representation, entry) };
  const object = viewOf(representation, entry);
  const value = form === 'table' ? tableOf(representation, object) : partialMetadata(object);
  return { type: 'value', code: 200, value };
}

/** Without a version as fresh as the store; with 0 any state of the cache; else at least that version. */
async function reachVersion(reader: ObjectReader, text: string): Promise<void> {
  const version = parseResourceVersion(text);
  if (version === undefined) await reader.catchUp();
  else if (version === 0) reader.assertReady();
  else await reader.waitFor(version);
}
