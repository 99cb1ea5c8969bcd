import type { FlowControlLimits } from '../../api/flow-control-limits.ts';
import { type ApiError, tooManyRequests } from '../../api/status.ts';
import type { RequestTarget } from '../request/request-info.ts';
import { prepareStatus } from '../response/status-body.ts';
import { PriorityLevel, type PriorityLevelLimits, type PriorityLevelUsage, type Seat } from './priority-level.ts';
import { RejectionLimiter } from './rejection-limiter.ts';

/** What is bounded on its own, so that much of one kind of work never takes the place of another. */
export type PriorityLevelName = 'health' | 'public' | 'tokens' | 'reads' | 'writes' | 'watches' | 'bodies';

export interface FlowControl {
  /** A place for a request of this caller; undefined when it has enough already. */
  enter(level: PriorityLevelName, who: string): Seat | undefined;
  /** The 429 of a level. */
  refusal(level: PriorityLevelName): ApiError;
  /** To be awaited before a refusal is sent; false when the connection is to be closed instead. */
  pace(who: string): boolean | Promise<boolean>;
  /** The same before a 401. Nobody knows who that is, and many may share an address: it is held for less time. */
  paceUnknown(address: string): boolean | Promise<boolean>;
  /** For metrics. */
  usage(): Readonly<Record<PriorityLevelName, PriorityLevelUsage>>;
}

/** Public paths cost next to nothing; these keep one address from crowding out the probes of another. */
const PUBLIC = { atOnce: 400, perCaller: 100, waitingPerCaller: 1_000 } as const;
/** Longer than any of our own work takes, and shorter than clients wait. */
const MAX_WAIT_MS = 10_000;
/** A write is read, checked and prepared in one turn: more of them would keep everybody else waiting for their sum. */
const WRITES_PER_TURN = 8;
/** Each of them may be 3 MB long, and is kept in memory until it was read whole and acted upon. */
const LARGE_BODIES_AT_ONCE = 32;
/** A body beyond this takes a place among them, besides that of its request. Nearly all are shorter. */
const LARGE_BODY_BYTES = 64 * 1024;
/** FlowControl empty fast; a watch may stand for an hour. */
const RETRY_SECONDS = 1;
const RETRY_WATCH_SECONDS = 5;

/** Nobody who was refused waits longer for the answer than others wait for their turn. */
const PACE = { perSecond: 100, atOnce: 20, maxHoldMs: MAX_WAIT_MS, maxHeld: 5_000 } as const;
/** For a 401, which is nobody's in particular, at most so long. */
const MAX_HOLD_UNKNOWN_MS = 5_000;

export function createFlowControl(
  limits: FlowControlLimits,
  now: () => number = performance.now.bind(performance),
): FlowControl {
  const refusals = new Map<PriorityLevelName, ApiError>();
  const createPriorityLevel = (
    name: PriorityLevelName,
    laneLimits: PriorityLevelLimits,
    retryAfterSeconds = RETRY_SECONDS,
  ): PriorityLevel => {
    const text = `too many requests at once (${name}), please try again later`;
    const refusal = prepareStatus(tooManyRequests(text, retryAfterSeconds));
    refusals.set(name, refusal);
    return new PriorityLevel({ ...laneLimits, maxWaitMs: MAX_WAIT_MS, now, refusal });
  };
  const shared = (name: PriorityLevelName, atOnce: number, perTurn?: number): PriorityLevel =>
    createPriorityLevel(name, {
      ...(perTurn === undefined ? {} : { perTurn }),
      atOnce,
      perCaller: Math.max(1, Math.floor((atOnce * limits.callerShare) / 100)),
      waitingPerCaller: limits.waitingPerCaller,
    });
  const watches = { atOnce: limits.watchesAtOnce, perCaller: limits.watchesPerCaller, waitingPerCaller: 0 };
  const flowControl: Readonly<Record<PriorityLevelName, PriorityLevel>> = {
    health: createPriorityLevel('health', PUBLIC),
    public: createPriorityLevel('public', PUBLIC),
    tokens: shared('tokens', limits.tokensAtOnce),
    reads: shared('reads', limits.readsAtOnce),
    writes: shared('writes', limits.writesAtOnce, WRITES_PER_TURN),
    watches: createPriorityLevel('watches', watches, RETRY_WATCH_SECONDS),
    bodies: shared('bodies', LARGE_BODIES_AT_ONCE),
  };
  const known = new RejectionLimiter({ ...PACE, now });
  const unknown = new RejectionLimiter({ ...PACE, maxHoldMs: MAX_HOLD_UNKNOWN_MS, now });
  return {
    enter: (level, who) => flowControl[level].enter(who),
    refusal: (level) => refusals.get(level) as ApiError,
    pace: (who) => known.wait(who),
    paceUnknown: (address) => unknown.wait(address),
    usage: () => {
      const used = Object.entries(flowControl).map(([name, level]) => [name, level.usage]);
      return Object.fromEntries(used) as ReturnType<FlowControl['usage']>;
    },
  };
}

/** Whether this much of a body, undefined if that is not known, wants a place of its own. */
export const isLargeBody = (length: number | undefined): boolean => length === undefined || length > LARGE_BODY_BYTES;

const HEALTH = /^\/(?:livez|readyz|healthz)(?:\/|$)/;

export function priorityLevelOf(names: RequestTarget, isPublic: boolean): PriorityLevelName {
  if (names.type === 'path') {
    if (!isPublic) return 'reads';
    return HEALTH.test(names.path) ? 'health' : 'public';
  }
  const { verb, subresource, group } = names.target;
  switch (verb) {
    case 'watch':
      return 'watches';
    case 'get':
    case 'list':
      return 'reads';
    default:
      if (subresource === 'token') return 'tokens';
      // Reviews are questions, although they are asked by POST.
      return group === 'authorization.k8s.io' || group === 'authentication.k8s.io' ? 'reads' : 'writes';
  }
}
