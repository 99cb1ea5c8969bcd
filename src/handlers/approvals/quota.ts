import type { Caller } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { Kind } from '../../api/kind.ts';
import { isOpenPhase } from '../../api/kinds/approval.ts';
import { COUNTED_LABEL } from '../../api/kinds/issued-token.ts';
import type { ApiError } from '../../api/status.ts';
import { PendingCreations, type Quota } from '../../objects/quota.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { createdBefore, type StoredObject } from '../../objects/stored-object.ts';
import { countedFor, digestOf } from '../../tokens/revocations/tracked-tokens.ts';

/** Finished objects stay for a while, so all that are stored have a bound, too: that many times the open ones. */
const STORED_PER_OPEN = 10;

/** At most `max` of the objects that count. */
export interface Limit {
  readonly max: number;
  readonly counts: (entry: StoredObject) => boolean;
  /** `who` with the verb: `User "jane" has`. */
  readonly refusal: (who: string, max: number, counted: readonly StoredObject[]) => ApiError;
}

export const isOpen = (entry: StoredObject): boolean => isOpenPhase(entry.field('status.phase'));

/** The bounds of open objects and of all that are stored. */
export const limitsOf = (max: number, open: Limit['refusal'], stored: Limit['refusal']): [Limit, Limit] => [
  { max, counts: isOpen, refusal: open },
  { max: max * STORED_PER_OPEN, counts: () => true, refusal: stored },
];

interface Counted {
  /** The value of COUNTED_LABEL on them. */
  readonly id: string;
  stored(): StoredObject[];
  quota(limits: readonly Limit[]): Quota;
}

/** Objects count for the person behind the credential (ADR 31), those of each client of that person by themselves. */
export function createCounts(
  { catalog, reader }: { readonly catalog: Catalog; readonly reader: ObjectReader },
  kind: Kind,
): (caller: Caller, client?: string) => Counted {
  const pending = new PendingCreations();
  return (caller, client) => {
    const { id: person, who } = countedFor(reader, catalog.issuedTokens, caller.impersonator ?? caller);
    const id = client === undefined ? person : digestOf([person, client]);
    const stored = (): StoredObject[] => [...reader.cache(kind).current.withLabel(COUNTED_LABEL, id)];
    return {
      id,
      stored,
      quota: (limits) => ({
        pending,
        key: id,
        refusal: (revision, writing) => {
          const before = stored().filter(createdBefore(revision));
          for (const { max, counts, refusal } of limits) {
            const counted = before.filter(counts);
            if (counted.length + writing >= max) return refusal(who, max, counted);
          }
          return undefined;
        },
      }),
    };
  };
}
