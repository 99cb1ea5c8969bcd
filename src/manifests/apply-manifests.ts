import type { Catalog } from '../api/catalog.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { kindPrefix, storageKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import type { DeletionPropagation } from '../objects/deletion-propagation.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { type Manifest, type ManifestProblem, type Manifests, messageOf } from './read-manifests.ts';

/** On objects that came from a folder: `<source>:<file>`. Only these are removed when their file is. */
const ORIGIN_ANNOTATION = 'clusterpass.dev/manifest';

export interface ApplyParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly propagation: DeletionPropagation;
}

export interface ApplyReport {
  readonly applied: number;
  readonly removed: number;
  /** What could not be read: the same until the files change. */
  readonly unread: readonly ManifestProblem[];
  /** What could not be written: worth another try, as what it lacks may be there by then. */
  readonly unwritten: readonly ManifestProblem[];
}

/** Objects of one kind are written together: the store commits concurrent writes as one. */
const AT_ONCE = 64;

/** Makes the store hold what the folder says, as far as the folder can be read. */
export async function applyManifests(parts: ApplyParts, source: string, read: Manifests): Promise<ApplyReport> {
  const unwritten: ManifestProblem[] = [];
  let applied = 0;
  await parts.reader.catchUp();
  // In the catalog's order, so that clusters and namespaces exist before what is inside them.
  for (const kind of parts.catalog.kinds) {
    const ofKind = read.manifests.filter((manifest) => manifest.kind === kind);
    for (let start = 0; start < ofKind.length; start += AT_ONCE) {
      await Promise.all(
        ofKind.slice(start, start + AT_ONCE).map(async (manifest) => {
          try {
            await applyOne(parts, source, manifest);
            applied++;
          } catch (error) {
            const { file, document, line } = manifest;
            unwritten.push({ file, document, line, message: messageOf(error) });
          }
        }),
      );
    }
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
      // Another replica reads the same folder, and was faster.
      if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
    }
  }
  const part = kind.hasStatus && object.status !== undefined ? 'both' : 'object';
  const change = (current: ApiObject): ApiObject => {
    const next = withOthersMarks(object, current);
    // What others made stays theirs: it is brought up to date, but never removed with the file.
    return originOf(current) === undefined ? next : withOrigin(next, origin);
  };
  await writer.update(kind, objectKey, change, { dryRun: false, part });
  await propagation.settle(kind, objectKey);
}

/** Programs that look after an object mark it with these; a file that does not mention them leaves them alone. */
function withOthersMarks(object: ApiObject, { metadata }: ApiObject): ApiObject {
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
  // A file that can not be read in full says nothing about what it no longer holds.
  const unclear = new Set(read.problems.map(({ file }) => `${source}:${file}`));
  let removed = 0;
  // What the server keeps for itself never came from a file, and there can be a lot of it.
  for (const kind of catalog.kinds.filter(({ verbs }) => verbs === undefined).toReversed()) {
    const surplus = [...reader.cache(kind).current.scan(kindPrefix(kind))].filter((entry) => {
      // An object on its way out was removed before, and waits for its finalizers.
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
