/** The history of one kind, as its budget sees it. */
interface History {
  /** Bytes of past versions. */
  readonly historyBytes: number;
  /** Drops the oldest events, until at most this many bytes are left. */
  dropHistory(maxBytes: number): void;
}

/**
 * Past versions of all kinds together, in memory. A window of 10,000 events of clusters with 3 KB each takes 30 MB. A
 * caller that may change one object can write hundreds of kilobytes each time, and without a bound the windows would
 * grow to gigabytes in every replica.
 */
const MAX_HISTORY_BYTES = 256 * 1024 * 1024;

/** Bounds the bytes of past versions that several watch caches keep. */
export class HistoryBudget {
  readonly #maxBytes: number;
  readonly #histories: History[] = [];
  #bytes = 0;

  constructor(maxBytes: number = MAX_HISTORY_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(history: History): void {
    this.#histories.push(history);
  }

  /** Called when past versions were added to a history, or dropped from it. */
  count(bytes: number): void {
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#halveLargest();
  }

  /**
   * The kind that takes the most is trimmed, so that the others keep their history. By half, so that this is rare:
   * trimming copies a window.
   */
  #halveLargest(): void {
    const bytes = this.#histories.map(({ historyBytes }) => historyBytes);
    const most = Math.max(...bytes);
    this.#histories[bytes.indexOf(most)]?.dropHistory(Math.floor(most / 2));
  }
}
