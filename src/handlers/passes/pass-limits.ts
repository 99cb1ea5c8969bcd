import type { PassDecision } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { COUNTED_LABEL } from '../../api/kinds/issued-token.ts';
import { PASS_EXPIRY_FIELD } from '../../api/kinds/pass.ts';
import { isLivePhase, type PassSpec } from '../../api/kinds/pass-spec.ts';
import { type ApiError, forbidden, tooManyRequests } from '../../api/status.ts';
import { quantity } from '../../lib/quantity.ts';
import type { Quota } from '../../objects/quota.ts';
import { createdBefore, type StoredObject } from '../../objects/stored-object.ts';
import { countedFor, digestOf } from '../../tokens/revocations/tracked-tokens.ts';
import type { PassParts } from './pass-parts.ts';

/** How long a pass waits for its approval. */
export const PENDING_MS = 10 * 60_000;
/** Ended passes stay for a while, so all that are stored have a quota, too: that many times the live ones. */
const STORED_PER_LIVE = 10;

const MOST = 'the most that are allowed: revoke one, or wait';

/** The passes that count together: those of one requester with one client. */
interface CountedPasses {
  /** The value of COUNTED_LABEL on them. */
  readonly id: string;
  stored(): StoredObject[];
  /** Why there is no room for another one. */
  refusalFor(decision: PassDecision): Quota['refusal'];
}

export function countedPasses(parts: PassParts, caller: Caller, { client }: PassSpec): CountedPasses {
  const { catalog, reader } = parts;
  const counted = countedFor(reader, catalog.issuedTokens, caller.impersonator ?? caller);
  const id = digestOf([counted.id, client?.id ?? '']);
  const stored = (): StoredObject[] => [...reader.cache(catalog.passes).current.withLabel(COUNTED_LABEL, id)];
  return {
    id,
    stored,
    refusalFor: (decision) => (revision, writing) =>
      limitRefusal(parts, { stored: stored().filter(createdBefore(revision)), writing }, counted.who, decision),
  };
}

interface PassCount {
  readonly stored: readonly StoredObject[];
  /** How many are being written, and may be stored soon. */
  readonly writing: number;
}

/** Why there is no room for another pass. */
function limitRefusal(
  parts: PassParts,
  { stored, writing }: PassCount,
  who: string,
  { approval }: PassDecision,
): ApiError | undefined {
  const { limits, now, catalog } = parts;
  const live = stored.filter((entry) => isLivePhase(entry.field('status.phase')));
  const pending = live.filter((entry) => entry.field('status.phase') === 'Pending');
  const wait = (entries: readonly StoredObject[]): number => {
    const ends = entries.map((entry) => Date.parse(entry.field(PASS_EXPIRY_FIELD)));
    return Math.max(1, Math.ceil((Math.min(...ends, now() + PENDING_MS) - now()) / 1000));
  };
  const { maxHandles, maxPending } = limits;
  if (live.length + writing >= maxHandles) {
    const held = quantity(maxHandles, 'live pass', 'live passes');
    return tooManyRequests(`${who} ${held} with this client, ${MOST}`, wait(live));
  }
  if (approval !== 'none' && pending.length + writing >= maxPending) {
    const held = quantity(maxPending, 'pass', 'passes');
    return tooManyRequests(`${who} ${held} waiting for an approval, ${MOST}`, wait(pending));
  }
  if (stored.length + writing >= maxHandles * STORED_PER_LIVE) {
    return forbidden(catalog.passes, '', `${who} too many passes, live and ended: delete some, or wait an hour`);
  }
  return undefined;
}
