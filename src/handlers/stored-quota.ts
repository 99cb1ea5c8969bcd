import type { Caller } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { isOpenPhase } from '../api/kinds/approval.ts';
import { EXPIRY_FIELD } from '../api/kinds/approval-kind.ts';
import { COUNTED_LABEL } from '../api/kinds/issued-token.ts';
import { type Limit, PendingCreations, quotaOf } from '../objects/quota.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { countedFor, digestOf } from '../tokens/revocations/tracked-tokens.ts';

/** Finished objects stay for a while, so all that are stored have a bound, too: that many times the open ones. */
const STORED_PER_OPEN = 10;

export const isOpen = (entry: StoredObject): boolean => isOpenPhase(entry.field('status.phase'));

/** The bounds of open objects and of all that are stored. `whatOf`: their name with a number. */
export function limitsOf(
  open: Pick<Limit, 'quota' | 'max' | 'advice'>,
  whatOf: (max: number, which: 'open' | 'stored') => string,
): [open: Limit, stored: Limit] {
  const all = open.max * STORED_PER_OPEN;
  const endOf = (entry: StoredObject): number => Date.parse(entry.field(EXPIRY_FIELD));
  return [
    { ...open, counts: isOpen, what: whatOf(open.max, 'open'), endOf },
    { ...open, max: all, counts: () => true, what: whatOf(all, 'stored'), endOf: () => Number.NaN },
  ];
}

interface CountParts {
  readonly catalog: Pick<Catalog, 'issuedTokens'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Objects count for the person behind the credential (ADR 31), those of each client of that person by themselves. `id`:
 * the value of COUNTED_LABEL on them.
 */
export function createCounts({ catalog, reader, now }: CountParts, kind: Kind) {
  const pending = new PendingCreations();
  return (caller: Caller, client?: string) => {
    const { id: person, who } = countedFor(reader, catalog.issuedTokens, caller.impersonator ?? caller);
    const id = client === undefined ? person : digestOf([person, client]);
    const stored = (): StoredObject[] => [...reader.cache(kind).current.withLabel(COUNTED_LABEL, id)];
    return { id, stored, quota: (limits: readonly Limit[]) => quotaOf({ pending, key: id, who, stored, limits, now }) };
  };
}
