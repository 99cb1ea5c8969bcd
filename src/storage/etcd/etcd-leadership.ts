import { hostname } from 'node:os';
import { pause } from '../../lib/backoff.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Trace } from '../../observability/protocol-trace.ts';
import {
  CAMPAIGN_MS,
  type Guard,
  LEADER_KEY,
  LEASE_MS,
  type Leadership,
  MARGIN_MS,
  type Revision,
} from '../contract.ts';
import { toStorageError } from './etcd-errors.ts';
import type { KeySpace } from './key-space.ts';
import type { CallTimeout, Members } from './members.ts';
import {
  CREATE_REVISION,
  type EtcdCompare,
  LEASE_GRANT,
  LEASE_KEEP_ALIVE_PATH,
  LEASE_REVOKE,
  leaseKeepAliveRequest,
  leaseKeepAliveResponse,
  MOD_REVISION,
  RANGE,
  TXN,
} from './messages.ts';
import type { StoreMeta } from './store-meta.ts';

const RENEW_MS = 2_000;
/** After a renewal that failed. The next one asks another member, and there is time for two before leadership ends. */
const RETRY_MS = 250;
const TIMEOUT: CallTimeout = { attemptMs: 1_500, totalMs: 3_000, hedgeMs: 500 };

interface EtcdLeadershipOptions {
  readonly members: Pick<Members, 'callIdempotent' | 'callOnce' | 'callStream'>;
  readonly space: KeySpace;
  /** Of the store that was opened. A process does not lead in a store that has taken its place. */
  readonly meta: Pick<StoreMeta, 'modRevision'>;
  /** Whether the store knows that another one has taken its place. */
  readonly isReplaced: () => boolean;
  readonly logger?: Pick<Logger, 'info' | 'warn'> | undefined;
  readonly trace?: Trace | undefined;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
  /** Default: a timer. Ends with the signal. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

interface Term {
  readonly lease: bigint;
  readonly created: Revision;
  /** On our monotonic clock, counted from before the renewal was sent: etcd's own count began later. */
  validUntil: number;
}

/** Campaigns until it is closed. The leader's key is bound to a lease, so it expires when the leader stops renewing. */
export class EtcdLeadership implements Leadership {
  readonly #options: EtcdLeadershipOptions & Required<Pick<EtcdLeadershipOptions, 'now' | 'sleep'>>;
  readonly #sameStore: EtcdCompare;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #term: Term | undefined;

  constructor(options: EtcdLeadershipOptions) {
    const { space, meta } = options;
    this.#options = { now: () => performance.now(), sleep: onTimer, ...options };
    this.#sameStore = { target: MOD_REVISION, key: space.metaKey, modRevision: meta.modRevision };
    this.#running = this.#run();
  }

  leads(): boolean {
    const { isReplaced, now } = this.#options;
    return this.#term !== undefined && !isReplaced() && now() < this.#term.validUntil - MARGIN_MS;
  }

  fence(): Guard | undefined {
    return this.#term && this.leads() ? { key: LEADER_KEY, expect: { createRevision: this.#term.created } } : undefined;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        this.#term = this.#options.isReplaced() ? undefined : await this.#campaign();
        if (this.#term !== undefined) await this.#lead(this.#term);
      } catch (error) {
        this.#options.logger?.warn({ err: toStorageError(error, 'elect a leader') }, 'the leader election failed');
      }
      await this.#options.sleep(CAMPAIGN_MS, this.#closing.signal);
    }
  }

  /** The new term, or undefined while another replica leads. */
  async #campaign(): Promise<Term | undefined> {
    const { members, space } = this.#options;
    const key = space.key(LEADER_KEY);
    const held = await members.callIdempotent(RANGE, { key, keysOnly: true }, TIMEOUT, { doing: 'read the leader' });
    if (held.kvs.length > 0) return undefined;
    const requested = this.#options.now();
    const { id, ttl } = await members.callIdempotent(LEASE_GRANT, { ttl: LEASE_MS / 1_000 }, TIMEOUT, {
      doing: 'grant a lease',
    });
    const created = await this.#elect(key, id);
    if (created === undefined) return undefined;
    this.#options.logger?.info({}, 'this replica leads');
    const term = { lease: id, created, validUntil: 0 };
    this.#extend(term, requested + ttl * 1_000);
    return term;
  }

  #extend(term: Term, validUntil: number): void {
    term.validUntil = validUntil;
    this.#options.trace?.('leads', { epoch: term.created, for: validUntil - MARGIN_MS - this.#options.now() });
  }

  /** The revision of the leader's key; undefined if another replica was faster, and the lease is given back. */
  async #elect(key: Uint8Array, lease: bigint): Promise<Revision | undefined> {
    let isWon = false;
    try {
      const { succeeded, header } = await this.#options.members.callOnce(
        TXN,
        TXN.request.encode({
          compare: [this.#sameStore, { target: CREATE_REVISION, key, createRevision: 0 }],
          success: [{ put: { key, value: Buffer.from(`${hostname()} ${process.pid}`), lease } }],
        }),
        TIMEOUT.totalMs,
        { doing: 'elect a leader' },
      );
      isWon = succeeded;
      return succeeded ? this.#options.space.fromEtcd(header?.revision ?? 0) : undefined;
    } finally {
      // An election without an answer may be won: until its lease expires, no replica would lead.
      if (!isWon) await this.#revoke(lease);
    }
  }

  /** Renews the lease until it is lost, or this is closed. */
  async #lead(term: Term): Promise<void> {
    let pauseMs = RENEW_MS;
    try {
      for (;;) {
        await this.#options.sleep(pauseMs, this.#closing.signal);
        if (this.#closing.signal.aborted || this.#options.isReplaced()) return;
        const sent = this.#options.now();
        const renewed = await this.#renew(term).catch(() => undefined);
        if (renewed !== undefined && renewed > 0) this.#extend(term, sent + renewed * 1_000);
        else if (renewed === 0 || this.#options.now() > term.validUntil) return;
        pauseMs = renewed === undefined ? RETRY_MS : RENEW_MS;
      }
    } finally {
      this.#term = undefined;
      this.#options.logger?.info({}, 'this replica no longer leads');
      this.#options.trace?.('resigned', { epoch: term.created });
      await this.#revoke(term.lease);
    }
  }

  /** The seconds for which the lease is valid; 0 when it has expired, or the key of the term is gone. */
  async #renew({ lease: id, created }: Term): Promise<number> {
    const { members, space } = this.#options;
    const { ttl } = await members.callStream(
      LEASE_KEEP_ALIVE_PATH,
      leaseKeepAliveRequest,
      leaseKeepAliveResponse,
      { id },
      TIMEOUT.attemptMs,
    );
    // A lease outlives its key, which an operator removes with the rest of a store.
    const createRevision = space.toEtcd(created);
    const sameTerm: EtcdCompare = { target: CREATE_REVISION, key: space.key(LEADER_KEY), createRevision };
    const compare = [this.#sameStore, sameTerm];
    const { succeeded } = await members.callIdempotent(TXN, { compare }, TIMEOUT, { doing: 'read the leader' });
    return succeeded ? ttl : 0;
  }

  /** So that the others need not wait until the lease expires. When this fails, they wait. */
  async #revoke(id: bigint): Promise<void> {
    await this.#options.members
      .callIdempotent(LEASE_REVOKE, { id }, { attemptMs: 1_000, totalMs: 1_000 }, { doing: 'revoke a lease' })
      .catch(() => undefined);
  }
}

const onTimer = (ms: number, signal: AbortSignal): Promise<void> => pause(ms, { signal, ref: false });
