import type { FeedListener } from '../storage/cache/feed.ts';
import type { StoredObject } from './stored-object.ts';

export interface ClockBehindOptions {
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  /** Milliseconds on a clock that does not jump. */
  readonly uptime: () => number;
  readonly report: (seconds: number) => void;
}

/** Half of the leeway that tokens have: worth a word before anybody is refused. */
const WORTH_TELLING_S = 30;
/** Looking costs the reading of an object, and clocks do not run away in a second. */
const LOOK_EVERY_MS = 1_000;
/** What was seen counts for so long: a clock that was set right need not be told of for ever. */
const REMEMBER_MS = 600_000;

/**
 * B13: how far our clock is behind that of another replica. An object that was made later than now shows it, however long
 * the news of it took; the opposite could as well be late news. Of two replicas, the one behind notices. Whose clock is
 * wrong nobody here can know, so it is told and nothing is refused: otherwise one wrong clock would stop all the others.
 */
export class ClockBehind implements FeedListener<StoredObject> {
  readonly #options: ClockBehindOptions;
  #next = 0;
  #seen: { readonly seconds: number; readonly at: number } | undefined;

  constructor(options: ClockBehindOptions) {
    this.#options = options;
  }

  /** The most that was seen lately. */
  get seconds(): number {
    const { uptime } = this.#options;
    if (this.#seen !== undefined && uptime() - this.#seen.at > REMEMBER_MS) this.#seen = undefined;
    return this.#seen?.seconds ?? 0;
  }

  onEvent({ before, after }: Parameters<FeedListener<StoredObject>['onEvent']>[0]): void {
    const { now, uptime, report } = this.#options;
    const at = uptime();
    if (before !== undefined || after === undefined || at < this.#next) return;
    this.#next = at + LOOK_EVERY_MS;
    const made = Date.parse(after.object().metadata.creationTimestamp ?? '');
    const seconds = Math.max(0, (made - now()) / 1000);
    if (!(seconds > this.seconds)) return;
    this.#seen = { seconds, at };
    if (seconds > WORTH_TELLING_S) report(seconds);
  }

  onProgress(): void {}

  onReset(): void {}
}
