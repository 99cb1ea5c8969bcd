import { endOfTick } from './event-loop.ts';

export interface MemoryLimits {
  /** Of one flow, in bytes. */
  readonly perFlow: number;
  /** Of the process. */
  readonly total: number;
}

/** Whose limit stands in the way. */
export type MemoryLimitName = 'caller' | 'server';

/** Something that waits for a slow client, and can be given up. */
export interface MemoryHolder {
  /** What it holds back, shared bytes among it. */
  readonly unsentBytes: number;
  /** Lets go of what it holds. */
  giveUp(): void;
}

export interface MemoryUsage {
  readonly bytes: number;
  readonly refused: Readonly<Record<MemoryLimitName, number>>;
  /** Holders that were given up. */
  readonly givenUp: number;
}

/** The part of one flow. It exists while it has charges. */
class FlowMemory {
  readonly holders = new Set<MemoryHolder>();
  readonly #account: (flow: FlowMemory, more: number) => void;
  charges = 0;
  bytes = 0;

  constructor(account: (flow: FlowMemory, more: number) => void) {
    this.#account = account;
  }

  /** `ofProcess`: as many of them as no other flow holds. */
  add(bytes: number, ofProcess = bytes): void {
    this.bytes += bytes;
    this.#account(this, ofProcess);
  }
}

/**
 * What requests and watches hold in memory for their callers: bodies, selectors of open watches, bytes that a client
 * has not read. There is a limit for each flow and one for the process. A request beyond a limit is refused. What a
 * flow has already (a client stops to read) may pass it: then holders are given up, those that hold most first.
 *
 * While the process is at its limit, a flow is refused that would have more than an equal share of it, so a few large
 * flows do not keep out the others.
 */
export class MemoryAccount {
  readonly #limits: MemoryLimits;
  readonly #defer: (act: () => void) => void;
  readonly #flows = new Map<string, FlowMemory>();
  readonly #refused: Record<MemoryLimitName, number> = { caller: 0, server: 0 };
  #bytes = 0;
  #givenUp = 0;
  #reliefIsDue = false;

  /** `defer`: calls back when this tick is over. Holders are not given up in the midst of what has passed the limit. */
  constructor(limits: MemoryLimits, defer: (act: () => void) => void = endOfTick.work) {
    this.#limits = limits;
    this.#defer = defer;
  }

  get usage(): MemoryUsage {
    return { bytes: this.#bytes, refused: this.#refused, givenUp: this.#givenUp };
  }

  /** How many flows are in memory. */
  get size(): number {
    return this.#flows.size;
  }

  /** What one request or watch of a flow holds. The caller must close it. */
  open(key: string, holder?: MemoryHolder): MemoryCharge {
    const flow = this.#flows.get(key) ?? new FlowMemory(this.#add);
    this.#flows.set(key, flow);
    flow.charges += 1;
    if (holder !== undefined) flow.holders.add(holder);
    return new MemoryCharge(flow, () => {
      if (holder !== undefined) flow.holders.delete(holder);
      flow.charges -= 1;
      if (flow.charges === 0) this.#flows.delete(key);
    });
  }

  /** The limit that a request would pass with so many more bytes. */
  refusal(key: string, more: number): MemoryLimitName | undefined {
    const ofFlow = (this.#flows.get(key)?.bytes ?? 0) + more;
    const isFull = this.#bytes + more > this.#limits.total;
    const name = ofFlow > this.#limits.perFlow ? 'caller' : isFull && ofFlow > this.#equalShare ? 'server' : undefined;
    if (name !== undefined) this.#refused[name] += 1;
    return name;
  }

  get #equalShare(): number {
    return this.#limits.total / Math.max(1, this.#flows.size);
  }

  readonly #add = (flow: FlowMemory, more: number): void => {
    this.#bytes += more;
    const isOver = flow.bytes > this.#limits.perFlow || this.#bytes > this.#limits.total;
    if (!isOver || more < 0 || this.#reliefIsDue) return;
    this.#reliefIsDue = true;
    this.#defer(this.#relieve);
  };

  readonly #relieve = (): void => {
    this.#reliefIsDue = false;
    const flows = [...this.#flows.values()].sort((a, b) => b.bytes - a.bytes);
    for (const flow of flows) {
      const share = this.#equalShare;
      const isWithin = (): boolean =>
        flow.bytes <= this.#limits.perFlow && (this.#bytes <= this.#limits.total || flow.bytes <= share);
      if (isWithin()) continue;
      // Asked once for each: there may be thousands.
      const holders = [...flow.holders].map((holder) => ({ holder, unsent: holder.unsentBytes }));
      for (const { holder, unsent } of holders.sort((a, b) => b.unsent - a.unsent)) {
        if (isWithin() || unsent === 0) break;
        this.#givenUp += 1;
        holder.giveUp();
      }
    }
  };
}

/** The bytes of one request or watch. */
export class MemoryCharge {
  readonly #flow: FlowMemory;
  readonly #onClose: () => void;
  #bytes = 0;
  #isOpen = true;

  constructor(flow: FlowMemory, onClose: () => void) {
    this.#flow = flow;
    this.#onClose = onClose;
  }

  /** Sets how many bytes it alone holds. */
  set(bytes: number): void {
    if (!this.#isOpen || bytes === this.#bytes) return;
    const more = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#flow.add(more);
  }

  /** Takes part in bytes that others hold as well. */
  take(shared: SharedBytes): void {
    if (this.#isOpen) shared.take(this.#flow);
  }

  drop(shared: SharedBytes): void {
    if (this.#isOpen) shared.drop(this.#flow);
  }

  /** Gives its own bytes back. Shared ones must have been dropped. May be called again. */
  close(): void {
    this.set(0);
    if (this.#isOpen) this.#onClose();
    this.#isOpen = false;
  }
}

/**
 * Bytes that several watches wait for: they count once for the process, and once for each flow that has such a watch.
 * `parts`: shared bytes that belong to these, besides `bytes`.
 */
export class SharedBytes {
  readonly #bytes: number;
  readonly #parts: readonly SharedBytes[];
  readonly #uses = new Map<FlowMemory, number>();

  constructor(bytes: number, parts: readonly SharedBytes[] = []) {
    this.#bytes = bytes;
    this.#parts = parts;
  }

  take(flow: FlowMemory): void {
    const uses = this.#uses.get(flow) ?? 0;
    this.#uses.set(flow, uses + 1);
    if (uses > 0) return;
    if (this.#bytes > 0) flow.add(this.#bytes, this.#uses.size === 1 ? this.#bytes : 0);
    for (const part of this.#parts) part.take(flow);
  }

  drop(flow: FlowMemory): void {
    const uses = this.#uses.get(flow) ?? 0;
    if (uses > 1) {
      this.#uses.set(flow, uses - 1);
      return;
    }
    if (!this.#uses.delete(flow)) return;
    if (this.#bytes > 0) flow.add(-this.#bytes, this.#uses.size === 0 ? -this.#bytes : 0);
    for (const part of this.#parts) part.drop(flow);
  }
}
