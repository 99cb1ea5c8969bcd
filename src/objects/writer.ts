import type { Catalog } from '../api/catalog.ts';
import {
  type ApiObject,
  type Kind,
  type ManagedFieldsEntry,
  NOTHING_UNCHANGED,
  type ObjectKey,
  storageKey,
} from '../api/kind.ts';
import { ApiError, alreadyExists, badRequest, conflict, requireValid } from '../api/status.ts';
import type { AbortableRequest, Work } from '../lib/work-queue.ts';
import type { Guard, Store, Write, WriteResult } from '../storage/contract.ts';
import { trackUpdate, type WrittenPart } from './managed-fields.ts';
import { isParent, mustBeEmpty, requireParents } from './parents.ts';
import { checkPreconditions, modified, type Preconditions } from './preconditions.ts';
import {
  hasFinalizers,
  isSameObject,
  markForDeletion,
  prepareForCreate,
  prepareForUpdate,
  type TrackFields,
  unchangedParts,
  withOldTimes,
} from './prepare-object.ts';
import type { Quota } from './quota.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError, maybeStored } from './storage-errors.ts';
import { type StoredObject, toStoredBytes } from './stored-object.ts';
import { validateObject } from './validate-object.ts';
import { CONFLICT, WriteQueue } from './write-queue.ts';

interface WriterParts {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly catalog: Catalog;
  readonly now: () => number;
  readonly randomUUID: () => string;
  /** Five characters, for generateName. */
  readonly randomSuffix: () => string;
  /** Annotations that views of clusters compute; they are never stored. */
  readonly computedAnnotations: readonly string[];
}

/** Admission: called with the prepared object before it is validated. Throws to refuse the write. */
export type Admit = (object: ApiObject, old: ApiObject | undefined) => void;

/** The manager of the fields that a write changes, or `managedFields` themselves, computed by server-side apply. */
interface FieldOwner {
  /** The manager of a write that is no apply. Default: the server. */
  readonly manager?: string;
  readonly applied?: () => ManagedFieldsEntry[] | undefined;
  /** Takes warnings for the client, of a write that is no apply. */
  readonly warn?: (text: string) => void;
}

type ParentKey = Pick<ObjectKey, 'cluster' | 'namespace'>;

interface CreateOptions extends FieldOwner {
  readonly dryRun: boolean;
  /** The steps before admission take turns. Default: they run in one piece. */
  readonly work?: Work | undefined;
  /** Keep the status that was sent. Default: drop it, as the API does. */
  readonly keepStatus?: boolean;
  /** The file that the object comes from, see MANIFEST_ANNOTATION. */
  readonly origin?: string;
  /** The UID of the object. Default: a random one. */
  readonly uid?: string | undefined;
  /** Sets fields that belong to the server and to no manager. Called with the prepared object, before `admit`. */
  readonly derive?: ((object: ApiObject) => ApiObject) | undefined;
  readonly admit?: Admit;
  readonly quota?: Quota | undefined;
  /** Conditions on other keys at the instant of the write. */
  readonly guards?: readonly Guard[];
}

interface CheckedCreate extends CreateOptions {
  /** The quota is used up. */
  readonly refused?: ApiError | undefined;
}

interface UpdateOptions extends FieldOwner, Pick<CreateOptions, 'dryRun' | 'work' | 'guards' | 'admit'> {
  readonly part: WrittenPart;
  readonly preconditions?: Preconditions;
  /** The file that the object comes from, see MANIFEST_ANNOTATION. Default: the origin stays what it was. */
  readonly origin?: string | undefined;
  /** The update is given up when the request has ended. Default: it waits for other writes as long as it takes. */
  readonly request?: AbortableRequest | undefined;
}

interface RemoveOptions extends Pick<UpdateOptions, 'dryRun' | 'preconditions' | 'guards' | 'request'> {
  /** Of a cluster or a namespace: a conflict if anything is inside it at the instant of the deletion. */
  readonly onlyIfEmpty?: boolean;
  /** Called with the version that would be deleted. Throws to refuse that. */
  readonly admit?: (current: ApiObject) => void;
}

interface Removed {
  readonly object: ApiObject;
  readonly uid: string;
  readonly gone: boolean;
}

/**
 * Returns the new object for the current one. It may share parts with the current object, and must not modify it.
 * Called again after a conflict with another write. It must not wait for another write to the object.
 */
type UpdateFunction = (current: ApiObject) => ApiObject | Promise<ApiObject>;

/** The field manager of writes without a request. */
const SERVER_MANAGER = 'clusterpass';

const GENERATED_BASE_LENGTH = 58;
const NAME_ATTEMPTS = 8;

/**
 * Writes objects: defaults, validation, preconditions, and optimistic concurrency by resourceVersion. Updates and
 * deletions of an object wait for each other (WriteQueue), so only a writer that expects a resourceVersion gets a 409
 * for the write of another (AP-24). The steps of a large object before admission take turns; admission, validation and
 * the call of the store share a tick.
 */
export function createObjectWriter(parts: WriterParts) {
  const { store, reader, catalog, now, randomUUID, randomSuffix, computedAnnotations } = parts;
  const queue = new WriteQueue();

  function create(kind: Kind, within: ParentKey, sent: ApiObject, options: CreateOptions): Promise<ApiObject> {
    const { quota, work } = options;
    if (quota === undefined) return createWithin(kind, within, sent, options);
    return quota.pending.run(quota, (refused) => createWithin(kind, within, sent, { ...options, refused }), work);
  }

  async function createWithin(kind: Kind, within: ParentKey, sent: ApiObject, options: CheckedCreate) {
    const { metadata } = sent;
    if ((metadata.resourceVersion ?? '') !== '') {
      throw badRequest('resourceVersion should not be set on objects to be created');
    }
    const generated = (metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '';
    for (let attempt = 1; ; attempt++) {
      const name = generated ? generateName(metadata.generateName ?? '') : (metadata.name ?? '');
      try {
        const created = await createNamed(kind, { ...within, name }, sent, options);
        if (!options.dryRun) await checkQuota(kind, { ...within, name }, created, options.quota);
        return created;
      } catch (error) {
        const taken = error instanceof ApiError && error.status.reason === 'AlreadyExists';
        if (!generated || !taken) throw error;
        if (attempt >= NAME_ATTEMPTS) throw noUniqueName(kind, metadata.generateName ?? '');
      }
    }
  }

  /**
   * Removes the object if it is beyond the quota. Processes that create objects in the same moment do not know of each
   * other before: the order of the store decides which of them exceed it.
   */
  async function checkQuota(kind: Kind, objectKey: ObjectKey, { metadata }: ApiObject, quota?: Quota): Promise<void> {
    const { uid = '', resourceVersion = '' } = metadata;
    const refused = quota?.refusal(Number(resourceVersion), 0);
    if (refused === undefined) return;
    try {
      await remove(kind, objectKey, { dryRun: false, preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status.code >= 500) throw maybeStored(error);
      if (![404, 409].includes(error.status.code)) throw error;
      // Approved or redeemed meanwhile: what it has granted needs its object.
      if (reader.find(kind, objectKey)?.uid === uid) return;
    }
    throw refused;
  }

  function generateName(base: string): string {
    return `${base.slice(0, GENERATED_BASE_LENGTH)}${randomSuffix()}`;
  }

  function computedIn(kind: Kind): { computedAnnotations: readonly string[] } {
    return { computedAnnotations: kind === catalog.clusters ? computedAnnotations : [] };
  }

  function tracking(
    kind: Kind,
    { manager = SERVER_MANAGER, applied, warn }: FieldOwner,
    part: WrittenPart,
    sent: ApiObject,
    old: ApiObject | undefined,
  ): TrackFields {
    if (applied !== undefined) return applied;
    const entries = sent.metadata.managedFields;
    return (object) => trackUpdate(kind, { object, old, sent: entries, part, manager, now: now(), warn });
  }

  async function createNamed(kind: Kind, objectKey: ObjectKey, sent: ApiObject, options: CheckedCreate) {
    const { dryRun, keepStatus = false, derive, refused, admit, origin, guards = [], work } = options;
    const parents = await requireParents(catalog, reader, kind, objectKey);
    const stamp = { uid: options.uid ?? randomUUID(), now: now() };
    const track = tracking(kind, options, keepStatus ? 'both' : 'object', sent, undefined);
    const metadata = { ...computedIn(kind), keepStatus, origin };
    if (work?.isUsedUp) await work.turn();
    const prepared = prepareForCreate(kind, objectKey, sent, stamp, metadata, track);
    if (work?.isUsedUp) await work.turn();
    const object = derive?.(prepared) ?? prepared;
    // The refusals of `derive` take precedence.
    if (refused !== undefined) throw refused;
    admit?.(object, undefined);
    const context = { cluster: objectKey.cluster, unchanged: NOTHING_UNCHANGED };
    requireValid(kind, objectKey.name, validateObject(kind, object, context));
    if (dryRun) {
      await reader.catchUp();
      if (reader.find(kind, objectKey) ?? reader.findUnreadable(kind, objectKey)) throw nameTaken(kind, objectKey);
      return object;
    }
    const result = await write({
      key: storageKey(kind, objectKey),
      value: toStoredBytes(kind, object),
      expect: { absent: true },
      guards: [...parents.map(({ key, createRevision }) => ({ key, expect: { createRevision } })), ...guards],
    });
    await reader.sawOwnWrite(result);
    if (result.ok) return versioned(object, result.revision);
    if (result.key === storageKey(kind, objectKey)) throw nameTaken(kind, objectKey);
    if (guards.some(({ key }) => key === result.key)) {
      throw conflict(kind, objectKey.name, 'a condition of this creation no longer holds');
    }
    // A parent was deleted between the read and the write: this names it.
    await requireParents(catalog, reader, kind, objectKey);
    throw conflict(kind, objectKey.name, 'its cluster or namespace has changed; please try again');
  }

  /** Z-02: the error for a name that another object has. */
  function nameTaken(kind: Kind, objectKey: ObjectKey): ApiError {
    if (reader.findUnreadable(kind, objectKey) !== undefined) return reader.absence(kind, objectKey);
    const isTerminating = reader.find(kind, objectKey)?.deletionTimestamp !== undefined;
    return alreadyExists(kind, objectKey.name, isTerminating ? 'object is being deleted: ' : '');
  }

  async function update(kind: Kind, objectKey: ObjectKey, change: UpdateFunction, options: UpdateOptions) {
    const { part, preconditions, admit, origin, request, work } = options;
    const attempt = async (): Promise<ApiObject | typeof CONFLICT> => {
      const { current, object: old } = await newest(kind, objectKey, preconditions);
      // What it waited for was no work.
      if (work?.isUsedUp) await work.turn();
      const sent = await change(old);
      if (work?.isUsedUp) await work.turn();
      const track = tracking(kind, options, part, sent, old);
      const prepared = prepareForUpdate(kind, sent, old, part, { ...computedIn(kind), origin }, track);
      if (work?.isUsedUp) await work.turn();
      const next = withOldTimes(prepared, old);
      admit?.(next, old);
      const context = { cluster: objectKey.cluster, old, unchanged: unchangedParts(next, old) };
      requireValid(kind, objectKey.name, validateObject(kind, next, context));
      return replace(kind, { current, old }, next, options);
    };
    return queue.run(storageKey(kind, objectKey), attempt, request);
  }

  async function replace(
    kind: Kind,
    { current, old }: { current: StoredObject; old: ApiObject },
    next: ApiObject,
    { dryRun, guards = [], preconditions }: UpdateOptions,
  ): Promise<ApiObject | typeof CONFLICT> {
    // An update without changes is not written: no event, no new resourceVersion.
    if (dryRun || isSameObject(old, next)) return versioned(next, current.revision);
    const finished = next.metadata.deletionTimestamp !== undefined && !hasFinalizers(next);
    const result = await write({
      key: current.key,
      value: finished && !isParent(kind) ? null : toStoredBytes(kind, next),
      expect: { modRevision: current.revision },
      guards,
    });
    await reader.sawOwnWrite(result);
    if (result.ok) return versioned(next, result.revision);
    if (result.key !== current.key) throw conflict(kind, current.name, 'a condition of this update no longer holds');
    return lostRace(kind, current.name, preconditions);
  }

  /**
   * Starts a deletion. With `gone` the object no longer exists. Otherwise it has a deletionTimestamp and waits for its
   * finalizers or its children.
   */
  async function remove(kind: Kind, objectKey: ObjectKey, options: RemoveOptions): Promise<Removed> {
    const { dryRun, preconditions, guards = [], onlyIfEmpty = false, admit, request } = options;
    const inside = onlyIfEmpty ? mustBeEmpty(catalog, { ...objectKey, kind }) : [];
    const attempt = async (): Promise<Removed | typeof CONFLICT> => {
      const { current, object } = await newest(kind, objectKey, preconditions);
      admit?.(object);
      const { uid, deletionTimestamp } = current;
      const isMarked = deletionTimestamp !== undefined;
      if (dryRun) {
        const held = hasFinalizers(object);
        return { object: held && !isMarked ? markForDeletion(kind, object, now()) : object, uid, gone: !held };
      }
      // What is empty at the instant of its deletion has no children to wait for.
      const waits = (isParent(kind) && !onlyIfEmpty) || hasFinalizers(object);
      if (waits && isMarked) return { object, uid, gone: false };
      const last = waits ? markForDeletion(kind, object, now()) : object;
      const result = await write({
        key: current.key,
        value: waits ? toStoredBytes(kind, last) : null,
        expect: { modRevision: current.revision },
        guards: [...guards, ...inside],
      });
      await reader.sawOwnWrite(result);
      if (result.ok) return { object: versioned(last, result.revision), uid, gone: !waits };
      if (inside.some(({ key }) => key === result.key))
        throw conflict(kind, objectKey.name, 'there are objects inside it');
      if (result.key !== current.key) {
        throw conflict(kind, objectKey.name, 'a condition of this deletion no longer holds');
      }
      return lostRace(kind, objectKey.name, preconditions);
    };
    return queue.run(storageKey(kind, objectKey), attempt, request);
  }

  /**
   * Deletes a parent that is marked for deletion, unless it waits for its finalizers. An update in the meantime cannot
   * undo the deletion, so the newest version is deleted. False if something is inside it.
   */
  async function removeEmptied(parent: StoredObject): Promise<boolean> {
    return queue.run(parent.key, async () => {
      await reader.catchUp();
      const current = reader.find(parent.kind, parent);
      if (current?.createRevision !== parent.createRevision || hasFinalizers(current.object())) return true;
      const expect = { modRevision: current.revision };
      const guards = mustBeEmpty(catalog, parent);
      const result = await write({ key: current.key, value: null, expect, guards });
      await reader.sawOwnWrite(result);
      if (result.ok) return true;
      return result.key === current.key ? CONFLICT : false;
    });
  }

  /** The newest version, which must meet the preconditions. */
  async function newest(
    kind: Kind,
    objectKey: ObjectKey,
    preconditions: Preconditions | undefined,
  ): Promise<{ current: StoredObject; object: ApiObject }> {
    await reader.catchUp();
    const current = reader.find(kind, objectKey);
    if (current === undefined) throw reader.absence(kind, objectKey);
    const object = current.object();
    checkPreconditions(kind, object, preconditions);
    return { current, object };
  }

  async function write(write: Write): Promise<WriteResult> {
    try {
      return await store.write(write);
    } catch (error) {
      throw asApiError(error);
    }
  }

  return { create, update, remove, removeEmptied };
}

export type ObjectWriter = ReturnType<typeof createObjectWriter>;

const versioned = (object: ApiObject, revision: number): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

/** Another write came first. A writer that expects a version is refused; another one tries again. */
function lostRace(kind: Kind, name: string, preconditions: Preconditions | undefined): typeof CONFLICT {
  if ((preconditions?.resourceVersion ?? '') !== '') throw modified(kind, name);
  return CONFLICT;
}

/** M-05 */
function noUniqueName(kind: Kind, base: string): ApiError {
  const { message, details } = alreadyExists(kind, base).status;
  return new ApiError(
    409,
    'AlreadyExists',
    `${message}, the server was not able to generate a unique name for the object`,
    { details: { ...details, retryAfterSeconds: 1 } },
  );
}
