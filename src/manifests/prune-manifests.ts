import { originOf } from '../api/domain-keys.ts';
import { kindPrefix, type ObjectKey, storageKey } from '../api/kind.ts';
import { ApiError, conflict } from '../api/status.ts';
import { quantity } from '../lib/text.ts';
import { objectsInside } from '../objects/parents.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { leaderGuards } from '../storage/contract.ts';
import { type ApplyParts, eventOf, PART } from './apply-manifests.ts';
import { type Manifests, messageOf } from './read-manifests.ts';

/** An object that came from the folder and is no longer in it. */
interface Surplus extends ObjectKey {
  readonly resource: string;
  /** The file that it came from. */
  readonly file: string;
}

export interface PruneReport {
  readonly removed: readonly Surplus[];
  /** Objects that stay, and why. They are tried again: the reason may go away. */
  readonly kept: readonly (Surplus & { readonly reason: string })[];
  /** Why nothing was removed. */
  readonly refusal?: string;
}

interface Plan {
  /** How many objects came from the folder. */
  readonly owned: number;
  /** In the order of their removal: what is inside goes first. */
  readonly removable: readonly StoredObject[];
  readonly kept: readonly { readonly entry: StoredObject; readonly reason: string }[];
}

/**
 * Deletes the objects that came from the folder and are no longer in it. What it does depends on the folder and the
 * store alone, not on what this process has seen before.
 *
 * - A cluster or a namespace stays while it contains an object that did not come from the folder.
 * - Nothing is removed while a document cannot be read: it may define any of the objects.
 * - Nothing is removed if the removal would exceed `maxPercent` of the objects that came from the folder, or if the
 *   folder has no objects; a limit of 100 permits both.
 *
 * Ends early when the signal aborts.
 */
export async function pruneManifests(
  parts: ApplyParts,
  source: string,
  read: Manifests,
  maxPercent: number,
  signal?: AbortSignal,
): Promise<PruneReport> {
  await parts.reader.catchUp();
  const { owned, removable, kept: notRemovable } = await planPruning(parts, source, read);
  const kept = notRemovable.map(({ entry, reason }) => ({ ...surplusOf(source, entry), reason }));
  const refusal = refusalOf(owned, removable.length, read, maxPercent);
  if (refusal !== undefined) return { removed: [], kept, refusal };
  const removed: Surplus[] = [];
  for (const entry of removable) {
    if (signal?.aborted) break;
    try {
      if (await removeOne(parts, entry)) removed.push(surplusOf(source, entry));
    } catch (error) {
      kept.push({ ...surplusOf(source, entry), reason: messageOf(error) });
    }
  }
  return { removed, kept };
}

function refusalOf(owned: number, count: number, read: Manifests, maxPercent: number): string | undefined {
  if (count === 0) return undefined;
  if (read.problems.length > 0) {
    return `${quantity(read.problems.length, 'document')} could not be read, and may define what is no longer found`;
  }
  if (maxPercent === 100) return undefined;
  const advice = 'to remove them, start with --manifests-prune-limit';
  if (read.manifests.length === 0) return `the folder has no objects, and ${count} came from it: ${advice} 100`;
  if (count * 100 <= owned * maxPercent) return undefined;
  const percent = Math.ceil((count * 100) / owned);
  return `${count} of the ${owned} objects that came from the folder are no longer in it, more than ${maxPercent} %: ${advice} ${percent}`;
}

export async function planPruning(
  { catalog, reader, work }: ApplyParts,
  source: string,
  { manifests }: Manifests,
): Promise<Plan> {
  const wanted = new Set(manifests.map(({ kind, objectKey }) => storageKey(kind, objectKey)));
  const removable = new Map<string, StoredObject>();
  const kept: { entry: StoredObject; reason: string }[] = [];
  let owned = 0;
  // Kinds that only the server writes are not in files, and may have many objects.
  const kinds = catalog.kinds.filter(({ verbs }) => verbs === undefined).toReversed();
  // Of one tick: the caches change while this loop waits.
  const states = kinds.map((kind) => reader.cache(kind).snapshot.scan(kindPrefix(kind)));
  for (const entries of states) {
    for (const entry of entries) {
      if (work.isUsedUp) await work.turn();
      // An object that is being deleted waits for its finalizers.
      if (entry.deletionTimestamp !== undefined) continue;
      if (originOf(entry.object().metadata)?.startsWith(`${source}:`) !== true) continue;
      owned++;
      if (wanted.has(entry.key)) continue;
      const first = objectsInside(catalog, reader, entry).find(({ key }) => !removable.has(key));
      if (first === undefined) removable.set(entry.key, entry);
      else kept.push({ entry, reason: `${first.kind.resource} "${first.name}" is inside it` });
    }
  }
  return { owned, removable: [...removable.values()], kept };
}

/**
 * The event is durable before the deletion. False when another process has deleted the object already. The deletion
 * fails if something was put inside after the plan was made, or the object was given to the API.
 */
async function removeOne(parts: ApplyParts, entry: StoredObject): Promise<boolean> {
  const { writer, propagation, leadership } = parts;
  // A deletion ends tokens and permissions.
  const { security: audit } = parts.audit;
  const { kind, uid } = entry;
  const origin = originOf(entry.object().metadata) ?? '';
  const event = eventOf(parts, { part: PART, verb: 'delete', kind, objectKey: keyOf(entry), uid }, origin);
  await audit.commit(event.received());
  try {
    await writer.remove(kind, entry, {
      dryRun: false,
      preconditions: { uid },
      guards: leaderGuards(leadership),
      onlyIfEmpty: true,
      admit: ({ metadata }) => {
        if (originOf(metadata) === undefined) throw conflict(kind, entry.name, 'it was given to the API');
      },
    });
  } catch (error) {
    const { code, reason } = error instanceof ApiError ? error.status : { code: 500, reason: 'InternalError' };
    audit.write(event.complete({ code, reason }));
    if (code === 404) return false;
    throw error;
  }
  audit.write(event.complete({ code: 200 }));
  await propagation.finishDeletions(kind, entry);
  return true;
}

const keyOf = ({ cluster, namespace, name }: StoredObject): ObjectKey => ({ cluster, namespace, name });

const surplusOf = (source: string, entry: StoredObject): Surplus => ({
  resource: entry.kind.resource,
  ...keyOf(entry),
  file: originOf(entry.object().metadata)?.slice(source.length + 1) ?? '',
});
