import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Guard, LEADER_KEY, type Revision } from '../contract.ts';
import type { Leadership } from '../leadership.ts';
import { toStorageError } from './etcd-errors.ts';
import type { StoreLogger } from './etcd-store.ts';
import type { KeySpace } from './key-space.ts';
import type { Members, Patience } from './members.ts';
import {
  CREATE_REVISION,
  LEASE_GRANT,
  LEASE_KEEP_ALIVE_PATH,
  LEASE_REVOKE,
  leaseKeepAliveRequest,
  leaseKeepAliveResponse,
  RANGE,
  TXN,
} from './messages.ts';

/** A leader that dies is replaced after the lease, half a second of etcd's, and one look of the others: under ten seconds. */
const LEASE_SECONDS = 6;
const RENEW_MS = 2_000;
const LOOK_MS = 1_000;
/** Given up so much before the lease ends: a clock may be slow, and work that was begun takes a while. */
const MARGIN_MS = 1_000;
const PATIENCE: Patience = { tryMs: 1_500, totalMs: 3_000 };

interface Term {
  readonly lease: bigint;
  readonly created: Revision;
  /** By our own clock, from before the renewal was sent: etcd's own count began later. */
  validUntil: number;
}

/**
 * Campaigns until it is closed. The leader's key hangs on a lease: it goes when the leader stops renewing, however that
 * came about.
 */
export class EtcdLeadership implements Leadership {
  readonly #members: Members;
  readonly #space: KeySpace;
  readonly #logger: StoreLogger | undefined;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #term: Term | undefined;

  constructor(parts: { members: Members; space: KeySpace; logger?: StoreLogger | undefined }) {
    this.#members = parts.members;
    this.#space = parts.space;
    this.#logger = parts.logger;
    this.#running = this.#run();
  }

  leads(): boolean {
    return this.#term !== undefined && performance.now() < this.#term.validUntil - MARGIN_MS;
  }

  fence(): Guard | undefined {
    if (this.#term === undefined || !this.leads()) return undefined;
    return { key: LEADER_KEY, expect: { createRevision: this.#term.created } };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        this.#term = await this.#campaign();
        if (this.#term !== undefined) await this.#reign(this.#term);
      } catch (error) {
        this.#logger?.warn({ err: toStorageError(error, 'hold the election') }, 'no leader could be elected');
      }
      await this.#pause(LOOK_MS);
    }
  }

  /** The term, or undefined while another leads. */
  async #campaign(): Promise<Term | undefined> {
    const key = this.#space.key(LEADER_KEY);
    const held = await this.#members.ask(RANGE, { key, keysOnly: true }, PATIENCE, { doing: 'say who leads' });
    if (held.kvs.length > 0) return undefined;
    const asked = performance.now();
    const { id, ttl } = await this.#members.ask(LEASE_GRANT, { ttl: LEASE_SECONDS }, PATIENCE, {
      doing: 'grant a lease',
    });
    const { succeeded, header } = await this.#members.tell(
      TXN,
      TXN.request.encode({
        compare: [{ target: CREATE_REVISION, key, createRevision: 0 }],
        success: [{ put: { key, value: Buffer.from(`${hostname()} ${process.pid}`), lease: id } }],
      }),
      PATIENCE.totalMs,
      'elect a leader',
    );
    if (!succeeded) {
      await this.#revoke(id);
      return undefined;
    }
    this.#logger?.info({}, 'this replica leads');
    return { lease: id, created: this.#space.fromEtcd(header?.revision ?? 0), validUntil: asked + ttl * 1_000 };
  }

  /** Until the lease is lost, or given up. */
  async #reign(term: Term): Promise<void> {
    try {
      for (;;) {
        await this.#pause(RENEW_MS);
        if (this.#closing.signal.aborted) return;
        const sent = performance.now();
        const renewed = await this.#renew(term.lease).catch(() => undefined);
        if (renewed !== undefined && renewed > 0) term.validUntil = sent + renewed * 1_000;
        else if (renewed === 0 || performance.now() > term.validUntil) return;
      }
    } finally {
      this.#term = undefined;
      this.#logger?.info({}, 'this replica no longer leads');
      await this.#revoke(term.lease);
    }
  }

  async #renew(id: bigint): Promise<number> {
    const { ttl } = await this.#members.exchange(
      LEASE_KEEP_ALIVE_PATH,
      leaseKeepAliveRequest,
      leaseKeepAliveResponse,
      { id },
      PATIENCE.tryMs,
    );
    return ttl;
  }

  /** So that nobody has to wait for it to end. When this fails, they wait. */
  async #revoke(id: bigint): Promise<void> {
    await this.#members
      .ask(LEASE_REVOKE, { id }, { tryMs: 1_000, totalMs: 1_000 }, { doing: 'give up a lease' })
      .catch(() => undefined);
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined);
  }
}
