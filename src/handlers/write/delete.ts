import { type Kind, type ObjectKey, objectKeyOf } from '../../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, badRequest, detailsOf, type Status } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { hasPreconditions } from '../../objects/preconditions.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { listResponse } from '../list.ts';
import { type DeleteOptions, parseDeleteOptions } from '../options/delete-options.ts';
import type { ListOptions } from '../options/list-options.ts';
import { renderItems } from '../representation.ts';
import { selectPage } from '../selection.ts';
import { representationFor, selectionFor } from '../views.ts';
import { type WriteParts, writeResponse } from './write-parts.ts';

export async function deleteObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const options = parseDeleteOptions(request);
  const objectKey = objectKeyOf(request, kind);
  const { object, uid, gone } = await remove(parts, kind, objectKey, options, request);
  if (!options.dryRun) await parts.afterDeletion(request, kind, object);
  if (!gone) return writeResponse(parts, request, kind, object, { code: 200 });
  return deleteResponse(kind, objectKey.name, uid);
}

/** Deletes an object whose stored value cannot be decoded, regardless of its finalizers. */
export async function deleteUnreadable(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  parts.checkUnreadableDelete(request);
  const { dryRun, preconditions } = parseDeleteOptions(request);
  const objectKey = objectKeyOf(request, kind);
  if (dryRun || hasPreconditions(preconditions)) throw parts.reader.absence(kind, objectKey);
  await parts.propagation.removeUnreadable(kind, objectKey);
  return deleteResponse(kind, objectKey.name);
}

/** The Status of a completed deletion. */
export function deleteResponse(kind: Kind, name: string, uid?: string): ApiResponse {
  const status: Omit<Status, 'code'> = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(name, kind.group, kind.resource), ...defined({ uid }) },
  };
  return { type: 'value', code: 200, value: status };
}

async function remove(
  parts: WriteParts,
  kind: Kind,
  objectKey: ObjectKey,
  options: DeleteOptions,
  request?: ApiRequest,
) {
  const { dryRun, preconditions } = options;
  const removed = await parts.writer.remove(kind, objectKey, { dryRun, preconditions, request });
  if (dryRun) return removed;
  await parts.propagation.finishDeletions(kind, objectKey);
  // Still stored when it, or an object inside it, has finalizers: another controller has to remove them.
  const left = parts.reader.find(kind, objectKey);
  return left?.uid === removed.uid ? { ...removed, object: left.object() } : { ...removed, gone: true };
}

/** Undefined when another request deleted it first. */
async function removeIfThere(parts: WriteParts, kind: Kind, objectKey: ObjectKey, options: DeleteOptions) {
  try {
    return await remove(parts, kind, objectKey, options);
  } catch (error) {
    if (error instanceof ApiError && error.status.code === 404) return undefined;
    throw error;
  }
}

/** Concurrent deletions: the store commits them together. */
const MAX_CONCURRENT = 64;

/** Deletes the objects that a list with the same selectors and limit shows, and returns that list. */
export async function deleteCollection(
  parts: WriteParts,
  request: ApiRequest,
  kind: Kind,
  listOptions: ListOptions,
): Promise<ApiResponse> {
  const options = parseDeleteOptions(request);
  if (listOptions.continue !== '') throw badRequest('continue is not supported when a collection is deleted');
  await parts.reader.catchUp();
  const { work } = request;
  await work.turn();
  const selection = selectionFor(request, kind, listOptions, parts.views);
  const representation = { ...representationFor(request, kind, parts.views), form: 'object' as const };
  const { limit } = listOptions;
  const { items: entries } = await selectPage(parts.reader.cache(kind).current, selection, { limit }, work);
  const gone: StoredObject[] = [];
  for (let start = 0; start < entries.length; start += MAX_CONCURRENT) {
    const removed = await Promise.all(
      entries.slice(start, start + MAX_CONCURRENT).map(async (entry) => {
        const preconditions = { uid: entry.uid, ...options.preconditions };
        const deleted = await removeIfThere(parts, kind, entry, { ...options, preconditions });
        if (deleted !== undefined && !options.dryRun) await parts.afterDeletion(request, kind, deleted.object);
        return deleted === undefined ? [] : [entry];
      }),
    );
    gone.push(...removed.flat());
    // A real deletion waits for the store, and goes through all objects: `turn` would throw for a client that has left.
    if (options.dryRun && work.isUsedUp) await work.turn();
  }
  const items = await renderItems(representation, gone, work);
  const { revision } = parts.reader;
  return listResponse(representation, items, { continue: '', remaining: 0, revision, path: request.path });
}
