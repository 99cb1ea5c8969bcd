import { invalid } from '../api/field-error.ts';
import type { ApiObject, Kind, ManagedFieldsEntry } from '../api/kind.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import {
  entryErrors,
  fieldRules,
  hasManagers,
  plainObject,
  readable,
  storedEntries,
  storedManagers,
  type WrittenPart,
} from './managed-fields.ts';
import { excessOf, type Managers, NO_MANAGERS } from './patches/apply/managers.ts';
import { updateManagers } from './patches/apply/ownership.ts';

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
  const errors = entryErrors(sent, old?.metadata.managedFields ?? []);
  if (errors.length > 0) throw invalid(kind, object.metadata.name ?? '', errors);
  return read;
}

/** AP-67: an empty list clears only the built-in kinds. */
function isReset({ style }: Kind, sent: readonly ManagedFieldsEntry[]): boolean {
  if (sent.length === 0) return style === 'builtin';
  return sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0;
}
