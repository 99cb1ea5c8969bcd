import { printableErrors } from '../api/codec/go-text/go-quote.ts';
import { type ApiObject, apiVersionOf, type Kind, type ManagedFieldsEntry } from '../api/kind.ts';
import { type FieldError, invalid, invalidValue, requireValid, tooLong } from '../api/status.ts';
import { isJsonObject, type JsonMap, type JsonValue, parsedJson } from '../lib/json.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { setOf } from './patches/apply/field-set.ts';
import { FieldsError, FieldsTooLarge } from './patches/apply/fields-v1.ts';
import { excessOf, type Managers, NO_MANAGERS, readManagers, writeManagers } from './patches/apply/managers.ts';
import { type FieldRules, updateManagers } from './patches/apply/ownership.ts';

/** `metadata.managedFields` in its two forms: served, and stored with `fieldsV1` as JSON text. */

/** Kinds without PATCH cannot be applied, so their fields have no managers. */
const hasManagers = ({ verbs }: Kind): boolean => verbs === undefined || verbs.has('patch');

/** The object as it is served: with the trees of `managedFields`. */
export function withServedFields(kind: Kind, object: ApiObject): ApiObject {
  const { managedFields } = object.metadata;
  if (managedFields === undefined || !managedFields.some(isStored)) return object;
  return { ...object, metadata: { ...object.metadata, managedFields: servedEntries(kind, managedFields) } };
}

const isStored = ({ fieldsV1 }: ManagedFieldsEntry): boolean => typeof fieldsV1 === 'string';

const servedEntries = (kind: Kind, entries: readonly ManagedFieldsEntry[]): ManagedFieldsEntry[] =>
  entries.flatMap((entry) => {
    if (typeof entry.fieldsV1 !== 'string') return [entry];
    // A damaged text: the object is served without that manager.
    const fields = parsedJson(entry.fieldsV1);
    return fields === undefined ? [] : [{ ...entry, fieldsV1: rename(fields, namesOf(kind).toServed) }];
  });

/** The managers of a stored object. None if the entries cannot be read. */
export function storedManagers(kind: Kind, { metadata }: ApiObject): Managers {
  const read = readable(servedEntries(kind, metadata.managedFields ?? []));
  return read === undefined || read === 'too large' ? NO_MANAGERS : read;
}

/** The managers of entries that a client sent; undefined if they cannot be read. */
function readable(entries: readonly ManagedFieldsEntry[]): Managers | 'too large' | undefined {
  try {
    return readManagers(entries);
  } catch (error) {
    if (error instanceof FieldsTooLarge) return 'too large';
    if (error instanceof FieldsError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const storedEntries = (kind: Kind, managers: Managers): ManagedFieldsEntry[] | undefined =>
  writeManagers(managers)?.map((entry) => ({
    ...entry,
    fieldsV1: JSON.stringify(rename(entry.fieldsV1 as JsonValue, namesOf(kind).toStored)),
  }));

type Names = readonly [from: string, to: string] | undefined;

function namesOf({ storedForm }: Kind): { readonly toServed: Names; readonly toStored: Names } {
  if (storedForm === undefined) return { toServed: undefined, toStored: undefined };
  const { served, stored } = storedForm.renamedSpecField;
  return { toServed: [stored, served], toStored: [served, stored] };
}

/** Renames a field of `spec` in a tree. */
function rename(fields: JsonValue, names: Names): JsonValue {
  if (names === undefined || !isJsonObject(fields)) return fields;
  const [from, to] = names;
  const spec = fields['f:spec'];
  if (!isJsonObject(spec) || !Object.hasOwn(spec, `f:${from}`)) return fields;
  // Every key has a prefix, so none is `__proto__`.
  const renamed: JsonMap = {};
  for (const key of Object.keys(spec)) renamed[key === `f:${from}` ? `f:${to}` : key] = spec[key] ?? null;
  return { ...fields, 'f:spec': renamed };
}

export type WrittenPart = 'object' | 'status' | 'both';

/** Of a kind and the path of a write. */
export function fieldRules(kind: Kind, part: WrittenPart): FieldRules {
  const { shape, style } = kind;
  const names = shape.fields.map(({ name }) => name);
  const ignored =
    part === 'status'
      ? names.filter((name) => name !== 'status')
      : part === 'object' && kind.hasStatus
        ? ['status']
        : [];
  // In Go these are structs, not pointers: an object always has them. `rules` is never absent either.
  const present: readonly [string, JsonValue][] =
    style === 'custom'
      ? []
      : [
          ['spec', {}],
          ['status', {}],
          ['rules', []],
        ];
  return {
    shape,
    apiVersion: apiVersionOf(kind),
    ignored: setOf(ignored.map((name) => [`f:${name}`])),
    alwaysPresent: Object.fromEntries(present.filter(([name]) => names.includes(name))),
  };
}

/** The object without `managedFields`, as the merge takes it. */
export function plainObject({ metadata: { managedFields: _, ...metadata }, ...rest }: ApiObject): JsonMap {
  return { ...rest, metadata } as unknown as JsonMap;
}

const MAX_NAME_BYTES = 128;

const namesIn = ({ manager = '', subresource = '' }: ManagedFieldsEntry): string =>
  JSON.stringify([manager, subresource]);

/** AP-66: the errors of entries that a client sent. Names that are stored stay: every update sends them back. */
function entryErrors(entries: readonly ManagedFieldsEntry[], stored: readonly ManagedFieldsEntry[]): FieldError[] {
  const known = new Set(stored.map(namesIn));
  return entries.flatMap((entry, index) => {
    if (known.has(namesIn(entry))) return [];
    const { manager = '', subresource = '' } = entry;
    const at = `metadata.managedFields[${index}]`;
    return [
      ...(Buffer.byteLength(manager) > MAX_NAME_BYTES
        ? [tooLong(`${at}.manager`, MAX_NAME_BYTES)]
        : printableErrors(manager).map((problem) => invalidValue(`${at}.manager`, manager, problem))),
      ...(Buffer.byteLength(subresource) > MAX_NAME_BYTES ? [tooLong(`${at}.subresource`, MAX_NAME_BYTES)] : []),
    ];
  });
}

/** Refuses an apply that would make `managedFields` too large. Other writes drop it instead (AP-61). */
export function checkManagedFieldsSize(kind: Kind, name: string, managers: Managers): void {
  const excess = excessOf(managers);
  if (excess === undefined) return;
  const { count, limit } = excess;
  throw invalid(kind, name, [
    { type: 'tooMany', field: 'metadata.managedFields', value: count, detail: `must have ${limit}` },
  ]);
}

interface TrackedWrite {
  /** The object with its defaults. */
  readonly object: ApiObject;
  /** Undefined for a create. */
  readonly old: ApiObject | undefined;
  /** `managedFields` of the body. */
  readonly sent: readonly ManagedFieldsEntry[] | undefined;
  readonly part: WrittenPart;
  readonly manager: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Takes a warning for the client. */
  readonly warn?: ((text: string) => void) | undefined;
}

/**
 * `managedFields` after a write that is no apply, in their stored form. Undefined where they are not tracked, and where
 * they would be too large (AP-61).
 */
export function trackUpdate(kind: Kind, write: TrackedWrite): ManagedFieldsEntry[] | undefined {
  const { object, old, part, manager, now, warn } = write;
  if (!hasManagers(kind)) return undefined;
  const dropped = (why: string): undefined =>
    void warn?.(`metadata.managedFields was dropped: ${why}; no field has a manager until it is applied again`);
  const before = managersBefore(kind, write);
  if (before === 'too large') return dropped('it is too large');
  // AP-60: tracking begins with the object or with its first apply.
  if (before.size === 0 && old !== undefined) return undefined;
  const after = updateManagers(fieldRules(kind, part), {
    before: old === undefined ? {} : plainObject(old),
    after: plainObject(object),
    managers: before,
    updater: { name: manager, subresource: part === 'status' ? 'status' : '' },
    now: toTimestamp(now),
  });
  const excess = excessOf(after);
  return excess === undefined ? storedEntries(kind, after) : dropped(`it must have ${excess.limit}`);
}

/**
 * AP-66 to AP-68: entries of the body replace the stored ones if they can be read. Writes of the server send the stored
 * form, which cannot.
 */
function managersBefore(kind: Kind, { old, sent, part, object }: TrackedWrite): Managers | 'too large' {
  const stored = (): Managers => (old === undefined ? NO_MANAGERS : storedManagers(kind, old));
  if (sent === undefined || part === 'status') return stored();
  if (isReset(kind, sent)) return NO_MANAGERS;
  const read = readable(sent);
  if (read === undefined || (read !== 'too large' && read.size === 0)) return stored();
  const known = old?.metadata.managedFields ?? [];
  requireValid(kind, object.metadata.name ?? '', entryErrors(sent, known));
  return read;
}

/** AP-67: an empty list clears only the built-in kinds. */
function isReset({ style }: Kind, sent: readonly ManagedFieldsEntry[]): boolean {
  if (sent.length === 0) return style === 'builtin';
  return sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0;
}
