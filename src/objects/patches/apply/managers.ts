import { toJson } from '../../../api/codec/encode.ts';
import { compareBytes } from '../../../api/codec/go-text/go-json-text.ts';
import type { ManagedFieldsEntry } from '../../../api/kind.ts';
import { MAX_MANAGERS } from '../../../api/kinds/meta.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { type FieldSet, sizeOf, union } from './field-set.ts';
import { FieldsError, readFields, writeFields } from './fields-v1.ts';

type Operation = 'Apply' | 'Update';

/** A manager of fields and what it owns: an entry of `metadata.managedFields`. */
export interface Manager {
  readonly name: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  /** `""` for the main path. */
  readonly subresource: string;
  /** RFC 3339; undefined for an applier that has changed no value (AP-57). */
  readonly time: string | undefined;
  readonly set: FieldSet;
}

/** By `managerKey`. */
export type Managers = ReadonlyMap<string, Manager>;

export const NO_MANAGERS: Managers = new Map();

export type ManagerId = Pick<Manager, 'name' | 'operation' | 'apiVersion' | 'subresource'>;

/** Paths of all managers of one object: as many as labels and annotations that are allowed. */
export const MAX_PATHS = 2_000;
/** Characters of their names. */
const MAX_TEXT = 512 * 1024;

/** AP-37: what distinguishes managers. The text is that of kube-apiserver, by which conflicts are sorted (AP-33). */
export function managerKey({ name, operation, apiVersion, subresource }: ManagerId): string {
  return toJson({
    manager: name,
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  });
}

/**
 * @throws FieldsError for an entry that cannot be read (AP-66).
 * @throws FieldsTooLarge for entries that own more than an object may have (AP-61).
 */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Managers {
  const budget = { paths: MAX_PATHS, text: MAX_TEXT };
  const managers = new Map<string, Manager>();
  for (const entry of entries) {
    const { manager: name = '', operation, apiVersion = '', fieldsType, fieldsV1, time, subresource = '' } = entry;
    if (!isOperation(operation)) throw new FieldsError('operation must be `Apply` or `Update`');
    if (apiVersion === '') throw new FieldsError('apiVersion must not be empty');
    if (fieldsType !== 'FieldsV1') throw new FieldsError('fieldsType must be `FieldsV1`');
    const set = readFields((fieldsV1 ?? null) as JsonValue, budget);
    const manager = { name, operation, apiVersion, subresource, time, set };
    managers.set(managerKey(manager), manager);
  }
  return managers;
}

const isOperation = (text: string | undefined): text is Operation => text === 'Apply' || text === 'Update';

/** AP-41, AP-43: sorted, without empty ones; undefined when none is left. */
export function writeManagers(managers: Managers): ManagedFieldsEntry[] | undefined {
  const entries = [...managers.values()]
    .filter(({ set }) => !set.isEmpty)
    .sort(compareManagers)
    .map(
      ({ name, operation, apiVersion, subresource, time, set }): ManagedFieldsEntry => ({
        manager: name,
        operation,
        apiVersion,
        ...(time === undefined ? {} : { time }),
        fieldsType: 'FieldsV1',
        fieldsV1: writeFields(set),
        ...(subresource === '' ? {} : { subresource }),
      }),
    );
  return entries.length === 0 ? undefined : entries;
}

const secondsOf = ({ time }: Pick<Manager, 'time'>): number =>
  time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareBytes(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareBytes(a.name, b.name) ||
    compareBytes(a.apiVersion, b.apiVersion) ||
    compareBytes(a.subresource, b.subresource)
  );
}

/** AP-59 */
const MAX_UPDATERS = 10;
const OLD_UPDATES = 'ancient-changes';

/** Unites the oldest updaters until ten are left. Appliers do not count. */
export function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  if (updaters.length <= MAX_UPDATERS) return managers;
  updaters.sort(([a, left], [b, right]) => secondsOf(left) - secondsOf(right) || compareBytes(a, b));
  const capped = new Map(managers);
  const firsts = new Map<string, string>();
  let left = updaters.length;
  for (const [id, manager] of updaters) {
    if (left <= MAX_UPDATERS) break;
    const { apiVersion } = manager;
    const first = firsts.get(apiVersion);
    if (first === undefined) {
      firsts.set(apiVersion, id);
      continue;
    }
    const bucket = { name: OLD_UPDATES, operation: 'Update', apiVersion, subresource: '' } as const;
    const bucketId = managerKey(bucket);
    const united = capped.get(bucketId) ?? capped.get(first);
    if (!capped.has(bucketId)) capped.delete(first);
    capped.delete(id);
    const set = united === undefined ? manager.set : union(united.set, manager.set);
    capped.set(bucketId, { ...bucket, time: manager.time, set });
    left--;
  }
  return capped;
}

/**
 * How many of what exceed which limit; undefined for managers within the limits. kube-apiserver bounds neither the
 * number of appliers nor their sets.
 */
export function excessOf(managers: Managers) {
  if (managers.size > MAX_MANAGERS) return { count: managers.size, limit: `at most ${MAX_MANAGERS} managers` };
  let [paths, text] = [0, 0];
  for (const { set } of managers.values()) {
    const size = sizeOf(set);
    paths += size.paths;
    text += size.text;
  }
  if (paths > MAX_PATHS) return { count: paths, limit: `at most ${MAX_PATHS} fields of all managers together` };
  if (text > MAX_TEXT) return { count: text, limit: `at most ${MAX_TEXT} characters of the names of the fields` };
  return undefined;
}
