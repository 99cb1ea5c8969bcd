import type { LoadLimits } from '../../api/flow-control-limits.ts';
import { type ApiError, tooManyRequests } from '../../api/status.ts';
import type { RequestTarget } from '../request/request-info.ts';
import { prepareStatus } from '../response/status-body.ts';
import { Lane, type LaneLimits, type LaneUsage, type Ticket } from './priority-level.ts';
import { RefusalPace } from './rejection-limiter.ts';

/** What is bounded on its own, so that much of one kind of work never takes the place of another. */
export type LaneName = 'health' | 'public' | 'tokens' | 'reads' | 'writes' | 'watches' | 'bodies';

export interface Lanes {
  /** A place for a request of this caller; undefined when it has enough already. */
  enter(lane: LaneName, who: string): Ticket | undefined;
  /** The 429 of a lane. */
  refusal(lane: LaneName): ApiError;
  /** To be awaited before a refusal is sent; false when the connection is to be closed instead. */
  pace(who: string): boolean | Promise<boolean>;
  /** The same before a 401. Nobody knows who that is, and many may share an address: it is held for less time. */
  paceUnknown(address: string): boolean | Promise<boolean>;
  /** For metrics. */
  usage(): Readonly<Record<LaneName, LaneUsage>>;
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
/** Lanes empty fast; a watch may stand for an hour. */
const RETRY_SECONDS = 1;
const RETRY_WATCH_SECONDS = 5;

/** Nobody who was refused waits longer for the answer than others wait for their turn. */
const PACE = { perSecond: 100, atOnce: 20, maxHoldMs: MAX_WAIT_MS, maxHeld: 5_000 } as const;
/** For a 401, which is nobody's in particular, at most so long. */
const MAX_HOLD_UNKNOWN_MS = 5_000;

export function createLanes(limits: LoadLimits, now: () => number = performance.now.bind(performance)): Lanes {
  const refusals = new Map<LaneName, ApiError>();
  const createLane = (name: LaneName, laneLimits: LaneLimits, retryAfterSeconds = RETRY_SECONDS): Lane => {
    const text = `too many requests at once (${name}), please try again later`;
    const refusal = prepareStatus(tooManyRequests(text, retryAfterSeconds));
    refusals.set(name, refusal);
    return new Lane({ ...laneLimits, maxWaitMs: MAX_WAIT_MS, now, refusal });
  };
  const shared = (name: LaneName, atOnce: number, perTurn?: number): Lane =>
    createLane(name, {
      ...(perTurn === undefined ? {} : { perTurn }),
      atOnce,
      perCaller: Math.max(1, Math.floor((atOnce * limits.callerShare) / 100)),
      waitingPerCaller: limits.waitingPerCaller,
    });
  const watches = { atOnce: limits.watchesAtOnce, perCaller: limits.watchesPerCaller, waitingPerCaller: 0 };
  const lanes: Readonly<Record<LaneName, Lane>> = {
    health: createLane('health', PUBLIC),
    public: createLane('public', PUBLIC),
    tokens: shared('tokens', limits.tokensAtOnce),
    reads: shared('reads', limits.readsAtOnce),
    writes: shared('writes', limits.writesAtOnce, WRITES_PER_TURN),
    watches: createLane('watches', watches, RETRY_WATCH_SECONDS),
    bodies: shared('bodies', LARGE_BODIES_AT_ONCE),
  };
  const known = new RefusalPace({ ...PACE, now });
  const unknown = new RefusalPace({ ...PACE, maxHoldMs: MAX_HOLD_UNKNOWN_MS, now });
  return {
    enter: (lane, who) => lanes[lane].enter(who),
    refusal: (lane) => refusals.get(lane) as ApiError,
    pace: (who) => known.wait(who),
    paceUnknown: (address) => unknown.wait(address),
    usage: () => {
      const used = Object.entries(lanes).map(([name, lane]) => [name, lane.usage]);
      return Object.fromEntries(used) as ReturnType<Lanes['usage']>;
    },
  };
}

/** Whether this much of a body, undefined if that is not known, wants a place of its own. */
export const isLargeBody = (length: number | undefined): boolean => length === undefined || length > LARGE_BODY_BYTES;

const HEALTH = /^\/(?:livez|readyz|healthz)(?:\/|$)/;

export function laneOf(names: RequestTarget, isPublic: boolean): LaneName {
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
