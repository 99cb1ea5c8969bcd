import type { Catalog } from '../api/catalog.ts';
import { type FieldError, invalid, invalidValue } from '../api/field-error.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { type ObjectKey, storageKey } from '../api/object-key.ts';
import { ApiError, alreadyExists, badRequest, conflict, notFound } from '../api/status.ts';
import type { Guard, Store, Write, WriteResult } from '../storage/contract.ts';
import { requireParents } from './parents.ts';
import { isSameObject, prepareCreate, prepareDeletion, prepareUpdate, type UpdatePart } from './prepare.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError } from './storage-errors.ts';
import { type StoredObject, toStoredBytes } from './stored-object.ts';
import { validateObject } from './validate-object.ts';

export interface WriterOptions {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly catalog: Catalog;
  readonly now: () => number;
  readonly randomUuid: () => string;
  /** Five characters for generated names. */
  readonly randomSuffix: () => string;
  /** Annotations that views compute and that are never stored. */
  readonly computedAnnotations: readonly string[];
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * Has the last word on what is about to be stored, complete with its place and its defaults, before it is
 * validated. Throws to refuse.
 */
export type Admit = (object: ApiObject, old: ApiObject | undefined) => void;

export interface CreateOptions {
  readonly dryRun: boolean;
  /** True for those who describe an object whole; a status sent by others is dropped. */
  readonly keepStatus?: boolean;
  readonly admit?: Admit;
}

export interface UpdateOptions {
  readonly dryRun: boolean;
  readonly part: UpdatePart;
  readonly preconditions?: Preconditions;
  /** What must be true of other keys at the instant of the write. */
  readonly guards?: readonly Guard[];
  readonly admit?: Admit;
}

/**
 * Looks at the present object and gives the one that should take its place, which may share parts with it. Must not change
 * what it is given. Called again when a writer was faster.
 */
export type Change = (current: ApiObject) => ApiObject | Promise<ApiObject>;

const GENERATED_BASE_LENGTH = 58;
const NAME_ATTEMPTS = 8;
const UPDATE_ATTEMPTS = 8;

/** Typed writes over bytes: defaults, validation, preconditions, and one winner for each version of an object. */
export class ObjectWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async create(
    kind: Kind,
    within: Pick<ObjectKey, 'cluster' | 'namespace'>,
    sent: ApiObject,
    options: CreateOptions,
  ): Promise<ApiObject> {
    const { metadata } = sent;
    if ((metadata.resourceVersion ?? '') !== '') {
      throw badRequest('resourceVersion should not be set on objects to be created');
    }
    const generated = (metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '';
    for (let attempt = 1; ; attempt++) {
      const name = generated ? this.#generateName(metadata.generateName ?? '') : (metadata.name ?? '');
      try {
        return await this.#createNamed(kind, { ...within, name }, sent, options);
      } catch (error) {
        const taken = error instanceof ApiError && error.status.reason === 'AlreadyExists';
        if (!generated || !taken) throw error;
        if (attempt >= NAME_ATTEMPTS) throw noUniqueName(kind, metadata.generateName ?? '');
      }
    }
  }

  #generateName(base: string): string {
    return `${base.slice(0, GENERATED_BASE_LENGTH)}${this.#options.randomSuffix()}`;
  }

  async #createNamed(
    kind: Kind,
    objectKey: ObjectKey,
    sent: ApiObject,
    { dryRun, keepStatus = false, admit }: CreateOptions,
  ): Promise<ApiObject> {
    const { catalog, reader, now, randomUuid, computedAnnotations } = this.#options;
    const parents = await requireParents(catalog, reader, kind, objectKey);
    const stamp = { uid: randomUuid(), now: now() };
    const object = prepareCreate(kind, objectKey, sent, stamp, { computedAnnotations, keepStatus });
    admit?.(object, undefined);
    refuseIfInvalid(kind, objectKey.name, validateObject(kind, object, undefined));
    if (dryRun) {
      await reader.catchUp();
      const existing = reader.find(kind, objectKey);
      if (existing !== undefined) throw exists(kind, objectKey.name, existing);
      return object;
    }
    const result = await this.#write({
      key: storageKey(kind, objectKey),
      value: toStoredBytes(kind, object),
      expect: { absent: true },
      guards: parents.map((parent) => ({ key: parent.key, expect: { createRevision: parent.createRevision } })),
    });
    await reader.sawOwnWrite(result.revision);
    if (result.ok) return versioned(object, result.revision);
    const existing = reader.find(kind, objectKey);
    if (result.key === storageKey(kind, objectKey)) throw exists(kind, objectKey.name, existing);
    // A parent went away between the look and the write: say which one.
    await requireParents(catalog, reader, kind, objectKey);
    throw conflict(kind, objectKey.name, 'what it lives in has changed; please try again');
  }

  async update(kind: Kind, objectKey: ObjectKey, change: Change, options: UpdateOptions): Promise<ApiObject> {
    const { computedAnnotations } = this.#options;
    const { part, preconditions, admit } = options;
    const expected = preconditions?.resourceVersion ?? '';
    for (let attempt = 1; ; attempt++) {
      const { current, object: old } = await this.#current(kind, objectKey, preconditions);
      const next = prepareUpdate(kind, await change(old), old, part, { computedAnnotations });
      admit?.(next, old);
      refuseIfInvalid(kind, objectKey.name, validateObject(kind, next, old));
      const result = await this.#replace(kind, { current, old }, next, options);
      if (result !== 'lost') return result;
      if (expected !== '' || attempt >= UPDATE_ATTEMPTS) throw modified(kind, objectKey.name);
    }
  }

  /** `lost`: someone else wrote first, and nothing was written here. */
  async #replace(
    kind: Kind,
    { current, old }: { current: StoredObject; old: ApiObject },
    next: ApiObject,
    { dryRun, guards = [] }: Pick<UpdateOptions, 'dryRun' | 'guards'>,
  ): Promise<ApiObject | 'lost'> {
    // An update that changes nothing is not written: no event, no new version.
    if (dryRun || isSameObject(old, next)) return versioned(next, current.revision);
    const finished = next.metadata.deletionTimestamp !== undefined && !hasFinalizers(next);
    const result = await this.#write({
      key: current.key,
      value: finished && !holdsOthers(kind) ? null : toStoredBytes(kind, next),
      expect: { modRevision: current.revision },
      guards,
    });
    await this.#options.reader.sawOwnWrite(result.revision);
    if (!result.ok && result.key !== current.key) {
      throw conflict(kind, current.name, 'whoever wanted this change may no longer make it');
    }
    return result.ok ? versioned(next, result.revision) : 'lost';
  }

  /**
   * Starts a deletion. `gone`: the object no longer exists. Otherwise it carries a deletionTimestamp and
   * waits, for its finalizers or for what is inside it.
   */
  async remove(
    kind: Kind,
    objectKey: ObjectKey,
    { dryRun, preconditions }: { dryRun: boolean; preconditions?: Preconditions },
  ): Promise<{ object: ApiObject; uid: string; gone: boolean }> {
    const { reader, now } = this.#options;
    const expected = preconditions?.resourceVersion ?? '';
    for (let attempt = 1; ; attempt++) {
      const { current, object } = await this.#current(kind, objectKey, preconditions);
      const { uid, deletionTimestamp } = current;
      const isMarked = deletionTimestamp !== undefined;
      if (dryRun) {
        const held = hasFinalizers(object);
        return { object: held && !isMarked ? prepareDeletion(kind, object, now()) : object, uid, gone: !held };
      }
      const waits = holdsOthers(kind) || hasFinalizers(object);
      if (waits && isMarked) return { object, uid, gone: false };
      const last = waits ? prepareDeletion(kind, object, now()) : object;
      const result = await this.#write({
        key: current.key,
        value: waits ? toStoredBytes(kind, last) : null,
        expect: { modRevision: current.revision },
      });
      await reader.sawOwnWrite(result.revision);
      if (result.ok) return { object: versioned(last, result.revision), uid, gone: !waits };
      if (expected !== '' || attempt >= UPDATE_ATTEMPTS) throw modified(kind, objectKey.name);
    }
  }

  /** The newest state, which must be what the caller says it is. */
  async #current(
    kind: Kind,
    objectKey: ObjectKey,
    preconditions: Preconditions | undefined,
  ): Promise<{ current: StoredObject; object: ApiObject }> {
    const { reader } = this.#options;
    await reader.catchUp();
    const current = reader.find(kind, objectKey);
    if (current === undefined) throw notFound(kind, objectKey.name);
    const expected = preconditions?.resourceVersion ?? '';
    if (expected !== '' && !/^[0-9]{1,16}$/.test(expected)) {
      throw invalid(kind, objectKey.name, [
        invalidValue('metadata.resourceVersion', expected, 'must be the resourceVersion of the object as it was read'),
      ]);
    }
    const object = current.object();
    checkPreconditions(kind, object, preconditions);
    return { current, object };
  }

  async #write(write: Write): Promise<WriteResult> {
    try {
      return await this.#options.store.write(write);
    } catch (error) {
      throw asApiError(error);
    }
  }
}

/** Deleting one of these takes what is inside along, so it first stops accepting anything new. */
export const holdsOthers = (kind: Kind): boolean => kind.resource === 'clusters' || kind.resource === 'namespaces';

export const hasFinalizers = ({ metadata }: ApiObject): boolean => (metadata.finalizers ?? []).length > 0;

const versioned = (object: ApiObject, revision: number): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

function refuseIfInvalid(kind: Kind, name: string, errors: FieldError[]): void {
  if (errors.length > 0) throw invalid(kind, name, errors);
}

export function checkPreconditions(kind: Kind, { metadata }: ApiObject, asked: Preconditions | undefined): void {
  const { name = '', uid, resourceVersion } = metadata;
  const wanted = { uid: asked?.uid ?? '', resourceVersion: asked?.resourceVersion ?? '' };
  if (wanted.uid !== '' && wanted.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${uid}`;
    throw conflict(kind, name, why);
  }
  if (wanted.resourceVersion !== '' && wanted.resourceVersion !== resourceVersion) throw modified(kind, name);
}

/** Z-05 */
const modified = (kind: Kind, name: string): ApiError =>
  conflict(kind, name, 'the object has been modified; please apply your changes to the latest version and try again');

/** Z-02 */
const exists = (kind: Kind, name: string, existing: StoredObject | undefined): ApiError =>
  alreadyExists(kind, name, existing?.deletionTimestamp === undefined ? '' : 'object is being deleted: ');

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
