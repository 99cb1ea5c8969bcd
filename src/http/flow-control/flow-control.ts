import { isTokenRequestList } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { type FlowControlLimits, seatsPerFlow } from '../../api/flow-control-limits.ts';
import { issuesToken } from '../../api/kinds/token-request.ts';
import { type ApiError, tooManyRequests } from '../../api/status.ts';
import { pause } from '../../lib/backoff.ts';
import { InFlightCounts } from '../../lib/in-flight-counts.ts';
import type { MemoryLimitName } from '../../lib/memory-account.ts';
import type { MaybePromise } from '../../lib/promises.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import type { PathInfo, RequestInfo } from '../request/request-info.ts';
import { PriorityLevel, type PriorityLevelLimits, type PriorityLevelUsage, type Seat } from './priority-level.ts';

/** Each priority level has its own seats, so that much work of one kind never displaces another kind. */
export type PriorityLevelName =
  | 'health'
  | 'public'
  | 'tokens'
  | 'reads'
  | 'writes'
  | 'watches'
  | 'watches-without-permission'
  | 'receiving'
  | 'receiving-address';

export type FlowControl = ReturnType<typeof createFlowControl>;

/** Public paths cost little. These limits keep one address from displacing the health checks of another. */
const PUBLIC = { seats: 400, seatsPerFlow: 100, queueLengthPerFlow: 1_000 } as const;
/** Longer than any of our own work takes, and shorter than clients wait. */
const MAX_QUEUE_WAIT_MS = 10_000;
/** A write is parsed, checked and prepared in one tick. More of them would delay every other request by their sum. */
const WRITES_PER_TICK = 8;
/** A longer body counts in the account of memory. Nearly all bodies are shorter. */
const LARGE_BODY_BYTES = 64 * 1024;
/**
 * Requests with a body of which a part is missing. They have no other seat, so they delay none, but each takes memory
 * and a connection. Nearly all bodies arrive with their headers and do not count.
 */
const RECEIVING = { seats: 5_000, queueLengthPerFlow: 0 } as const;
const RECEIVING_PER_FLOW = 100;
const RECEIVING_PER_ADDRESS = 1_000;
/** Queues are soon empty; a watch may stay open for an hour. */
const RETRY_SECONDS = 1;
const RETRY_WATCH_SECONDS = 5;

/** No rejection is delayed longer than a request waits in a queue. */
const REJECTIONS = { perSecond: 100, burst: 20, maxDelayMs: MAX_QUEUE_WAIT_MS, maxDelayed: 5_000 } as const;
const MAX_UNAUTHORIZED_DELAY_MS = 5_000;

export function createFlowControl(limits: FlowControlLimits, now = performance.now.bind(performance)) {
  const createLevel = (
    name: PriorityLevelName,
    levelLimits: PriorityLevelLimits,
    retryAfterSeconds = RETRY_SECONDS,
  ): PriorityLevel => {
    const text = `too many requests at once (${name}), please try again later`;
    const rejection = tooManyRequests(text, retryAfterSeconds);
    return new PriorityLevel({ ...levelLimits, maxQueueWaitMs: MAX_QUEUE_WAIT_MS, now, rejection });
  };
  const shared = (name: PriorityLevelName, seats: number, dispatchesPerTick?: number): PriorityLevel =>
    createLevel(name, {
      ...(dispatchesPerTick === undefined ? {} : { dispatchesPerTick }),
      seats,
      seatsPerFlow: seatsPerFlow(seats, limits),
      queueLengthPerFlow: limits.queueLengthPerFlow,
    });
  const watches = (seats: number, perFlow: number) => ({ seats, seatsPerFlow: perFlow, queueLengthPerFlow: 0 });
  const seatsWithoutPermission = Math.ceil(limits.watchSeats / 10);
  const levels: Readonly<Record<PriorityLevelName, PriorityLevel>> = {
    health: createLevel('health', PUBLIC),
    public: createLevel('public', PUBLIC),
    tokens: shared('tokens', limits.tokenSeats),
    reads: shared('reads', limits.readSeats),
    writes: shared('writes', limits.writeSeats, WRITES_PER_TICK),
    watches: createLevel('watches', watches(limits.watchSeats, limits.watchSeatsPerFlow), RETRY_WATCH_SECONDS),
    'watches-without-permission': createLevel(
      'watches-without-permission',
      watches(seatsWithoutPermission, limits.watchSeatsWithoutPermission),
      RETRY_WATCH_SECONDS,
    ),
    receiving: createLevel('receiving', { ...RECEIVING, seatsPerFlow: RECEIVING_PER_FLOW }),
    'receiving-address': createLevel('receiving-address', { ...RECEIVING, seatsPerFlow: RECEIVING_PER_ADDRESS }),
  };
  const callers = new RejectionLimiter({ ...REJECTIONS, now });
  const addresses = new RejectionLimiter({ ...REJECTIONS, maxDelayMs: MAX_UNAUTHORIZED_DELAY_MS, now });
  return {
    /**
     * A seat for a request of this flow, now or after a wait in the queue of its caller; undefined when the request is
     * rejected.
     */
    takeSeat: (level: PriorityLevelName, flow: string, caller?: Pick<Caller, 'key'>): Seat | undefined =>
      levels[level].takeSeat(flow, caller),
    /** For a request whose body is to be received; undefined when the request is rejected. */
    startReceiving(flow: string, address: string): Seat | undefined {
      const ofFlow = levels.receiving.takeSeat(flow);
      if (ofFlow === undefined) return undefined;
      const ofAddress = levels['receiving-address'].takeSeat(address);
      const release = (): void => {
        ofFlow.release();
        ofAddress?.release();
      };
      if (ofAddress !== undefined) return { queued: undefined, release };
      release();
      return undefined;
    },
    /** The 429 of a priority level. */
    rejection: (level: PriorityLevelName): ApiError => levels[level].rejection,
    /** To be awaited before a rejection is sent; false when the connection is to be closed instead. */
    delayRejection: (level: PriorityLevelName | 'memory', flow: string): MaybePromise<boolean> =>
      callers.wait(`${level} ${flow}`),
    /** To be awaited before a 401, like `delayRejection`. Many users may share an address, so its delay is shorter. */
    delayUnauthorized: (address: string): MaybePromise<boolean> => addresses.wait(address),
    /** For metrics. */
    usage: () =>
      Object.fromEntries(Object.entries(levels).map(([name, level]) => [name, level.usage])) as Readonly<
        Record<PriorityLevelName, PriorityLevelUsage>
      >,
  };
}

const tooMuchMemory = (ofWhom: MemoryLimitName): ApiError =>
  tooManyRequests(`too much memory is in use (memory of the ${ofWhom}), please try again later`, RETRY_SECONDS);

/** The 429 of a limit of memory. */
export const MEMORY_REJECTIONS: Readonly<Record<MemoryLimitName, ApiError>> = {
  caller: tooMuchMemory('caller'),
  server: tooMuchMemory('server'),
};

export const isLargeBody = (length: number): boolean => length > LARGE_BODY_BYTES;

const HEALTH = /^\/(?:livez|readyz|healthz)(?:\/|$)/;

const READING_GROUPS: ReadonlySet<string> = new Set(['authorization.k8s.io', 'authentication.k8s.io']);

/** The level of a path that needs no credentials. */
export const publicLevelOf = ({ path }: PathInfo): PriorityLevelName => (HEALTH.test(path) ? 'health' : 'public');

export function priorityLevelOf(info: RequestInfo): PriorityLevelName {
  if (info.type === 'path') return 'reads';
  const { verb, subresource, group, resource } = info.target;
  switch (verb) {
    case 'watch':
      return 'watches';
    case 'get':
    case 'list':
      return 'reads';
    default:
      if (issuesToken(subresource) || isTokenRequestList(info.target)) return 'tokens';
      // Reviews read, although they are sent by POST.
      return READING_GROUPS.has(group) || resource.endsWith('reviews') ? 'reads' : 'writes';
  }
}

interface RejectionLimiterOptions {
  /** How many rejections a second one flow is sent. */
  readonly perSecond: number;
  /** How many of them may be sent at once: enough for every client that waits as `Retry-After` says. */
  readonly burst: number;
  /** No rejection is delayed longer. */
  readonly maxDelayMs: number;
  /** When this many of one flow are delayed, the connections of further ones are closed instead. */
  readonly maxDelayed: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/**
 * A rate limiter (token bucket for each flow) for rejections. A rejection is cheap, but a client that ignores it and
 * asks again at once, over a thousand connections, would keep the server busy with nothing else. So rejections are
 * delayed: a connection that waits for its answer sends no request. They are sent one after the other, so that more
 * connections do not get more rejections, nor many of them in one tick of the event loop.
 */
export class RejectionLimiter {
  readonly #options: Required<RejectionLimiterOptions>;
  readonly #buckets: TokenBuckets;
  /** How many rejections of a flow are delayed; only flows that have some. */
  readonly #delayed = new InFlightCounts();

  constructor(options: RejectionLimiterOptions) {
    this.#options = { sleep: (ms) => pause(ms, { ref: false }), ...options };
    // No delay is longer than `maxDelayMs`, so the next rejection need not be later either.
    this.#buckets = new TokenBuckets({ ...options, maxAheadMs: options.maxDelayMs });
  }

  /** How many entries are in memory: buckets, and counts of delayed rejections. */
  get size(): number {
    return this.#buckets.size + this.#delayed.size;
  }

  /** Waits, if need be, until the rejection may be sent. False: too many are delayed; close the connection instead. */
  wait(flow: string): MaybePromise<boolean> {
    const { maxDelayed, maxDelayMs } = this.#options;
    const waitMs = this.#buckets.waitMs(flow);
    if (waitMs > 0 && this.#delayed.of(flow) >= maxDelayed) return false;
    this.#buckets.take(flow);
    return waitMs === 0 ? true : this.#delay(flow, Math.min(maxDelayMs, waitMs));
  }

  async #delay(flow: string, ms: number): Promise<boolean> {
    const release = this.#delayed.add(flow);
    await this.#options.sleep(ms);
    release();
    return true;
  }
}
