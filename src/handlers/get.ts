import type { Kind } from '../api/kind.ts';
import { objectKeyOf, storageKey } from '../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { notFound } from '../api/status.ts';
import type { ReadableObject } from '../objects/readable.ts';
import type { ObjectReader } from '../objects/reader.ts';
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
