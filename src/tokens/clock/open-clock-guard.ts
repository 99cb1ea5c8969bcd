import type { Logger } from '../../observability/logger.ts';
import { type Store, TIME_KEY } from '../../storage/contract.ts';
import type { Leadership } from '../../storage/leadership.ts';
import type { StoreTime } from '../../storage/store-time.ts';
import type { ClockCheck } from './clock-check.ts';
import { ClockGuard } from './clock-guard.ts';
import { HeldTime } from './held-time.ts';
import { MemberTimes } from './member-times.ts';

export interface OpenClockGuardOptions {
  readonly store: Pick<Store, 'get' | 'write'>;
  /** Undefined where the store has no time of its own. */
  readonly time: StoreTime | undefined;
  readonly leadership: Pick<Leadership, 'leads'>;
  /** 0: nothing is ever refused. */
  readonly limitMs: number;
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly steady: () => number;
  /** Starts a task that is repeated; gives what ends it. */
  readonly every: (ms: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

export interface OpenedClockGuard {
  readonly guard: ClockGuard;
  close(): void;
}

const ASK_MS = 10_000;
/** While the clock is wrong, somebody may be about to set it, and its machine may just have woken up. */
const ASK_AGAIN_MS = 1_000;
const WRITE_MS = 60_000;
/** So that the end of a wrong clock is noticed, and told, also when nobody asks for tokens. */
const LOOK_MS = 1_000;

/** Watches our clock for as long as the program runs. Whatever can be known at the start is known when this resolves. */
export async function openClockGuard(options: OpenClockGuardOptions): Promise<OpenedClockGuard> {
  const { time, every, now, logger } = options;
  const limitMs = options.limitMs === 0 ? Number.POSITIVE_INFINITY : options.limitMs;
  const source = time === undefined ? await besideItself(options, limitMs) : await besideMembers(options, time);
  const guard = new ClockGuard({ now, check: source.check, limitMs, onWrong: source.onWrong, logger });
  const ends = [...source.ends, every(LOOK_MS, () => void guard.isRight())];
  return {
    guard,
    close: () => {
      for (const end of ends) end();
    },
  };
}

interface Source {
  readonly check: ClockCheck;
  readonly onWrong: () => void;
  readonly ends: readonly (() => void)[];
}

async function besideMembers({ now, steady, every, logger }: OpenClockGuardOptions, time: StoreTime): Promise<Source> {
  const check = new MemberTimes({ now, steady });
  let asking = false;
  let last = Number.NEGATIVE_INFINITY;
  const ask = async (): Promise<number> => {
    if (asking) return 0;
    asking = true;
    last = steady();
    try {
      const readings = await time.ask(steady);
      check.learn(readings);
      return readings.length;
    } finally {
      asking = false;
    }
  };
  const found = await ask();
  if (found === 0) {
    logger.warn({}, 'no member of etcd says what time it is over HTTP: the clock here is compared with nothing');
  }
  return {
    check,
    onWrong: () => {
      if (steady() - last >= ASK_AGAIN_MS) void ask();
    },
    ends: [every(ASK_MS, () => void ask())],
  };
}

async function besideItself(options: OpenClockGuardOptions, limitMs: number): Promise<Source> {
  const { store, leadership, now, steady, every, logger } = options;
  const text = Buffer.from((await store.get(TIME_KEY))?.value ?? '').toString('latin1');
  const last = Date.parse(text);
  const check = new HeldTime({
    now,
    steady,
    limitMs,
    last: Number.isNaN(last) ? undefined : last,
    onBelieved: (skewMs) =>
      logger.warn(
        { seconds: Math.round(skewMs / 1000) },
        'the clock has kept its new time, and is believed from now on',
      ),
  });
  const write = async (): Promise<void> => {
    const certain = check.certain();
    if (certain === undefined || !leadership.leads()) return;
    const before = await store.get(TIME_KEY);
    await store.write({
      key: TIME_KEY,
      value: Buffer.from(new Date(certain).toISOString()),
      expect: before === undefined ? { absent: true } : { modRevision: before.modRevision },
    });
  };
  // A store that does not take it now is told of elsewhere, and the next time will do.
  const tryToWrite = (): Promise<void> => write().catch(() => undefined);
  await tryToWrite();
  return { check, onWrong: () => {}, ends: [every(WRITE_MS, () => void tryToWrite())] };
}
