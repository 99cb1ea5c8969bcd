import type { Catalog } from '../api/catalog.ts';
import { MANIFEST_ANNOTATION } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { kindPrefix, storageKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import { inBatches } from '../lib/in-batches.ts';
import type { DeletionPropagation } from '../objects/deletion-propagation.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { type Manifest, type ManifestProblem, type Manifests, messageOf } from './read-manifests.ts';

/** Only objects with this annotation are deleted when the file no longer has them. */
const ORIGIN_ANNOTATION = MANIFEST_ANNOTATION;

export interface ApplyParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly propagation: DeletionPropagation;
}

export interface ApplyReport {
  readonly applied: number;
  readonly removed: number;
  /** Documents that could not be read. They are read again when the files change. */
  readonly unread: readonly ManifestProblem[];
  /** Objects that could not be written. They are retried: e.g. their cluster may exist by then. */
  readonly unwritten: readonly ManifestProblem[];
}

/** Concurrent writes share a transaction of the store. */
const CONCURRENCY = 64;

/** Creates, updates and deletes objects so that the store has those of the folder. */
export async function applyManifests(parts: ApplyParts, source: string, read: Manifests): Promise<ApplyReport> {
  const unwritten: ManifestProblem[] = [];
  let applied = 0;
  await parts.reader.catchUp();
  // In the catalog's order, so that clusters and namespaces exist before what is inside them.
  for (const kind of parts.catalog.kinds) {
    const ofKind = read.manifests.filter((manifest) => manifest.kind === kind);
    await inBatches(ofKind, CONCURRENCY, async (manifest) => {
      try {
        await applyOne(parts, source, manifest);
        applied++;
      } catch (error) {
        const { file, document, line } = manifest;
        unwritten.push({ file, document, line, message: messageOf(error) });
      }
    });
  }
  const removed = await prune(parts, source, read, unwritten);
  return { applied, removed, unread: read.problems, unwritten };
}

async function applyOne(
  { reader, writer, propagation }: ApplyParts,
  source: string,
  { kind, objectKey, object, file }: Manifest,
): Promise<void> {
  const origin = `${source}:${file}`;
  if (reader.find(kind, objectKey) === undefined) {
    try {
      await writer.create(kind, objectKey, withOrigin(object, origin), { dryRun: false, keepStatus: true });
      return;
    } catch (error) {
      // Another replica that reads the same folder has created it.
      if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
    }
  }
  const part = kind.hasStatus && object.status !== undefined ? 'both' : 'object';
  const change = (current: ApiObject): ApiObject => {
    const next = withControllerFields(object, current);
    // An object that was created otherwise is updated, but not marked as the file's.
    return originOf(current) === undefined ? next : withOrigin(next, origin);
  };
  await writer.update(kind, objectKey, change, { dryRun: false, part });
  await propagation.settle(kind, objectKey);
}

/** Controllers set these fields. A file that does not have them leaves them unchanged. */
function withControllerFields(object: ApiObject, { metadata }: ApiObject): ApiObject {
  const { finalizers, ownerReferences } = metadata;
  return {
    ...object,
    metadata: {
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...object.metadata,
    },
  };
}

async function prune(
  parts: ApplyParts,
  source: string,
  read: Manifests,
  unwritten: ManifestProblem[],
): Promise<number> {
  const { catalog, reader } = parts;
  const wanted = new Set(read.manifests.map(({ kind, objectKey }) => storageKey(kind, objectKey)));
  // A file with errors may still define objects that could not be read.
  const unclear = new Set(read.problems.map(({ file }) => `${source}:${file}`));
  let removed = 0;
  // Kinds that only the server writes are not in files, and may have many objects.
  for (const kind of catalog.kinds.filter(({ verbs }) => verbs === undefined).toReversed()) {
    const surplus = [...reader.cache(kind).current.scan(kindPrefix(kind))].filter((entry) => {
      // An object that is being deleted waits for its finalizers.
      if (wanted.has(entry.key) || entry.deletionTimestamp !== undefined) return false;
      const origin = originOf(entry.object());
      return origin?.startsWith(`${source}:`) === true && !unclear.has(origin);
    });
    for (const entry of surplus) {
      try {
        await removeOne(parts, kind, entry);
        removed++;
      } catch (error) {
        const file = originOf(entry.object())?.slice(source.length + 1) ?? '';
        unwritten.push({ file, document: 0, line: 0, message: messageOf(error) });
      }
    }
  }
  return removed;
}

async function removeOne({ writer, propagation }: ApplyParts, kind: Kind, entry: StoredObject): Promise<void> {
  await writer.remove(kind, entry, { dryRun: false, preconditions: { uid: entry.uid } });
  await propagation.settle(kind, entry);
}

const originOf = (object: ApiObject): string | undefined => object.metadata.annotations?.[ORIGIN_ANNOTATION];

const withOrigin = (object: ApiObject, origin: string): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [ORIGIN_ANNOTATION]: origin } },
});
