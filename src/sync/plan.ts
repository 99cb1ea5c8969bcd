import type { ApiObject, ObjectMeta } from '../api/kind.ts';
import { contains, ownsMore } from './fields.ts';

/** What a synchronization has to write so that the target has what the source has. Pure: no clock, no network. */

/** An object as it is applied: with the fields of this manager only. */
export interface Desired {
  /** Without `status`. */
  readonly object: ApiObject;
  /** Applied through the subresource `status`; undefined: the status belongs to others. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** `namespace/name`, or the name of an object without a namespace. */
export const keyOf = ({ metadata: { namespace, name = '' } }: { readonly metadata: ObjectMeta }): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

/** Which objects of the target belong to this synchronization. */
export interface Ownership {
  /** Whether the object may be changed to what is desired. */
  mayChange(actual: ApiObject, desired: Desired): boolean;
  /** Whether the object may be removed when the source no longer has it. */
  mayRemove(actual: ApiObject): boolean;
}

export interface PlanInput {
  readonly desired: ReadonlyMap<string, Desired>;
  /** The source has them, but they cannot be translated now: they are neither changed nor removed. */
  readonly kept: ReadonlySet<string>;
  readonly actual: ReadonlyMap<string, ApiObject>;
  readonly ownership: Ownership;
  readonly fieldManager: string;
  readonly prune: boolean;
  /** Objects that may be removed at once. If more would be removed, none is. */
  readonly maxDelete: number;
  /** Objects that were removed a short time ago: they count for `maxDelete`. */
  readonly removedRecently: number;
  /** The keys of the objects of both sides. Default: `namespace/name`. */
  readonly keyOf?: (object: ApiObject) => string;
}

export interface Update {
  readonly desired: Desired;
  readonly actual: ApiObject;
  /** Whether metadata or spec differ. */
  readonly object: boolean;
  readonly status: boolean;
}

export interface Plan {
  readonly creates: readonly Desired[];
  readonly updates: readonly Update[];
  readonly removals: readonly ApiObject[];
  /** Desired objects whose names belong to objects of others. */
  readonly taken: readonly string[];
  /** Objects that would be removed, if these were not more than `maxDelete`. */
  readonly held: readonly string[];
  /** Objects that are as they should be. */
  readonly unchanged: number;
}

export function planChanges(input: PlanInput): Plan {
  const { desired, actual, ownership } = input;
  const creates: Desired[] = [];
  const updates: Update[] = [];
  const taken: string[] = [];
  let unchanged = 0;
  for (const [key, wanted] of desired) {
    const found = actual.get(key);
    if (found === undefined) creates.push(wanted);
    else if (!ownership.mayChange(found, wanted)) taken.push(key);
    // It is being deleted. When its finalizers are gone, it is created again.
    else if (found.metadata.deletionTimestamp !== undefined) unchanged++;
    else {
      const update = updateOf(wanted, found, input.fieldManager);
      if (update.object || update.status) updates.push(update);
      else unchanged++;
    }
  }
  const gone = input.prune ? removable(input) : [];
  const isWithin = gone.length + input.removedRecently <= input.maxDelete;
  return {
    creates,
    updates,
    removals: isWithin ? gone : [],
    taken,
    held: isWithin ? [] : gone.map(input.keyOf ?? keyOf),
    unchanged,
  };
}

const removable = ({ desired, kept, actual, ownership }: PlanInput): ApiObject[] =>
  [...actual]
    .filter(
      ([key, object]) =>
        !desired.has(key) &&
        !kept.has(key) &&
        object.metadata.deletionTimestamp === undefined &&
        ownership.mayRemove(object),
    )
    .map(([, object]) => object);

function updateOf(desired: Desired, actual: ApiObject, manager: string): Update {
  const { object, status } = desired;
  // Items of a list need not have `apiVersion` and `kind`.
  const { apiVersion: _, kind: __, ...fields } = object;
  const withStatus = { ...object, status };
  return {
    desired,
    actual,
    object: !contains(actual, fields) || ownsMore(actual, object, manager),
    status:
      status !== undefined && (!contains(actual.status, status) || ownsMore(actual, withStatus, manager, 'status')),
  };
}
