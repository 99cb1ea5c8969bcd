import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { ANSWER_ALGORITHMS, type OrderAnswer, type OrderClaims } from '../api/connector.ts';
import type { ApiObject } from '../api/kind.ts';
import type { TokenOrderSpec, TokenOrderStatus } from '../api/kinds/token-order.ts';
import { problemLog } from '../lib/problem-log.ts';
import { Slots } from '../lib/promises.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { Informer } from '../sync/informer.ts';
import { isRefusal, judgeOrder } from './judge-order.ts';
import { issueToken } from './made-objects.ts';
import type { ConnectorParts } from './parts.ts';
import type { Records } from './records.ts';

type OrdersParts = Pick<ConnectorParts, 'server' | 'api' | 'rules' | 'holder' | 'timing' | 'log'> & {
  /** The path of the orders for this cluster at Clusterpass. */
  readonly path: string;
  readonly records: Records;
  readonly verify: (name: string, jws: string) => Promise<OrderClaims>;
  /** Called when orders are known, have ended, or were done: Secrets of orders that are gone can be removed. */
  readonly onChange: () => void;
};

const CONCURRENCY = 16;
/** Bookmarks come every minute. */
const IDLE_MS = 150_000;
/** No order is done for longer, whatever it says. */
const MOST_MS = 60_000;
/** Longer than an order is valid, and clocks differ. */
const FORGET_MS = 300_000;

type Order = ApiObject & { readonly spec?: TokenOrderSpec; readonly status?: TokenOrderStatus };

const isOpen = ({ status: { claimedBy, phase } = {} }: Order): boolean =>
  claimedBy === undefined && phase === undefined;

/** The orders for this cluster. Each is verified, judged, claimed, done and answered, once. */
export class Orders {
  readonly #parts: OrdersParts;
  readonly #slots = new Slots(CONCURRENCY);
  readonly #informer: Informer;
  /** Those that were begun here, and when. */
  readonly #begun = new Map<string, number>();
  readonly #running = new Map<string, Promise<void>>();
  /** Epoch milliseconds. */
  lastAnswer: number | undefined;

  constructor(parts: OrdersParts) {
    this.#parts = parts;
    const { server: transport, path, timing, log } = parts;
    this.#informer = new Informer({
      ...{ transport, path, timing, idleMs: IDLE_MS },
      // Those of live tokens are many, and only their names are needed.
      transform: (order) => (isOpen(order) ? order : { ...order, spec: {}, status: { phase: 'Claimed' } }),
      onConnection: problemLog(log, 'the watch of orders'),
      onChange: () => this.#look(),
    });
  }

  /** Whether the order has ended, as far as is known: nothing made for it is needed any more. */
  isGone(order: string): boolean {
    const { isSynced, objects } = this.#informer;
    return isSynced && !objects.has(order) && !this.#running.has(order);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
    await Promise.all(this.#running.values());
  }

  #look(): void {
    for (const order of this.#informer.objects.values()) if (isOpen(order)) this.#begin(order);
    this.#parts.onChange();
  }

  #begin(order: Order): void {
    const { log, onChange } = this.#parts;
    const { name = '' } = order.metadata;
    if (this.#begun.has(name)) return;
    const now = this.#parts.timing.now();
    for (const [begun, since] of this.#begun) if (since + FORGET_MS < now) this.#begun.delete(begun);
    this.#begun.set(name, now);
    const running = this.#slots
      .run(() => this.#do(order))
      .catch((error: Error) => log(`order ${name}: ${error.message}`))
      .finally(() => {
        this.#running.delete(name);
        // It may have ended meanwhile.
        onChange();
      });
    this.#running.set(name, running);
  }

  async #do(order: Order): Promise<void> {
    const { verify, rules, records, holder, timing, log } = this.#parts;
    const { name = '', resourceVersion } = order.metadata;
    const claims = await verify(name, order.spec?.order ?? '');
    // By a process before this one: the answer was lost, perhaps not the token.
    if (records.all.has(name)) throw new Error('it was done before');
    const verdict = judgeOrder(rules(), claims);
    const signal = AbortSignal.timeout(Math.min(MOST_MS, Math.max(0, claims.exp * 1000 - timing.now())));
    const claim = { claimedBy: holder, claimTime: toTimestamp(timing.now()) };
    // A 409: another connector has it, or it has ended.
    await this.#patch(name, { metadata: { resourceVersion }, status: claim }, signal);
    const answer: OrderAnswer = isRefusal(verdict)
      ? { order: name, refusal: verdict }
      : await issueToken(this.#parts, claims, verdict, signal);
    if (signal.aborted) throw new Error('the API server of the cluster has not answered in time');
    await this.#patch(name, { status: { answer: await sealed(answer, claims.answerKey) } }, signal);
    this.lastAnswer = timing.now();
    const what = isRefusal(verdict) ? verdict.message : `${verdict.namespace}/${verdict.account}: ${answer.status}`;
    log(`order ${name} of ${claims.requester.user}: ${what}`);
  }

  async #patch(name: string, body: object, signal: AbortSignal): Promise<void> {
    const path = `${this.#parts.path}/${encodeURIComponent(name)}/status`;
    const options = { body, contentType: 'application/merge-patch+json', signal };
    await this.#parts.server.request('PATCH', path, options);
  }
}

/** Only the process that waits can read it. */
async function sealed(answer: OrderAnswer, key: OrderClaims['answerKey']): Promise<string> {
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(answer)))
    .setProtectedHeader(ANSWER_ALGORITHMS)
    .encrypt(await importJWK(key as JWK, ANSWER_ALGORITHMS.alg));
}
