import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { ANSWER_ALGORITHMS, type OrderAnswer, type OrderClaims } from '../api/connector.ts';
import type { ApiObject } from '../api/kind.ts';
import type { TokenOrderSpec, TokenOrderStatus } from '../api/kinds/token-order.ts';
import { problemLog } from '../lib/problem-log.ts';
import { Slots } from '../lib/promises.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { Informer } from '../sync/informer.ts';
import { isRefusal, judgeOrder } from './judge-order.ts';
import { createSweep, issueToken } from './made-objects.ts';
import type { ConnectorParts } from './parts.ts';
import type { Records } from './records.ts';

type OrdersParts = Pick<ConnectorParts, 'server' | 'api' | 'rules' | 'holder' | 'timing' | 'log'> & {
  /** The path of the orders for this cluster at Clusterpass. */
  readonly path: string;
  readonly records: Records;
  readonly verify: (name: string, jws: string) => Promise<OrderClaims>;
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

/**
 * The orders for this cluster. Each is verified, judged, claimed, done and answered, once. What was made for those that
 * have ended is swept.
 */
export function createOrders(parts: OrdersParts) {
  const { server, path, verify, rules, records, holder, timing, log } = parts;
  const slots = new Slots(CONCURRENCY);
  /** Those that were begun here, and when. */
  const begun = new Map<string, number>();
  const running = new Map<string, Promise<void>>();
  /** When an order was last answered, in epoch milliseconds. */
  let lastAnswer: number | undefined;
  const informer = new Informer({
    ...{ transport: server, path, timing, idleMs: IDLE_MS },
    // Those of live tokens are many, and only their names are needed.
    transform: (order) => (isOpen(order) ? order : { ...order, spec: {}, status: { phase: 'Claimed' } }),
    onConnection: problemLog(log, 'the watch of orders'),
    onChange: () => {
      for (const order of informer.objects.values()) if (isOpen(order)) begin(order);
      void sweep();
    },
  });
  const sweep = createSweep(parts, (order) => informer.isSynced && !informer.objects.has(order) && !running.has(order));

  function begin(order: Order): void {
    const { name = '' } = order.metadata;
    if (begun.has(name)) return;
    const now = timing.now();
    for (const [other, since] of begun) if (since + FORGET_MS < now) begun.delete(other);
    begun.set(name, now);
    const done = slots
      .run(() => perform(order))
      .catch((error: Error) => log(`order ${name}: ${error.message}`))
      .finally(() => {
        running.delete(name);
        // It may have ended meanwhile.
        void sweep();
      });
    running.set(name, done);
  }

  async function perform(order: Order): Promise<void> {
    const { name = '', resourceVersion } = order.metadata;
    const claims = await verify(name, order.spec?.order ?? '');
    // By a process before this one: the answer was lost, perhaps not the token.
    if (records.all.has(name)) throw new Error('it was done before');
    const verdict = judgeOrder(rules, claims);
    const signal = AbortSignal.timeout(Math.min(MOST_MS, Math.max(0, claims.exp * 1000 - timing.now())));
    const patch = (body: object): Promise<unknown> => {
      const options = { body, contentType: 'application/merge-patch+json', signal };
      return server.request('PATCH', `${path}/${encodeURIComponent(name)}/status`, options);
    };
    const claim = { claimedBy: holder, claimTime: toTimestamp(timing.now()) };
    // A 409: another connector has it, or it has ended.
    await patch({ metadata: { resourceVersion }, status: claim });
    const answer: OrderAnswer = isRefusal(verdict)
      ? { order: name, refusal: verdict }
      : await issueToken(parts, claims, verdict, signal);
    if (signal.aborted) throw new Error('the API server of the cluster has not answered in time');
    await patch({ status: { answer: await sealed(answer, claims.answerKey) } });
    lastAnswer = timing.now();
    const what = isRefusal(verdict) ? verdict.message : `${verdict.namespace}/${verdict.account}: ${answer.status}`;
    log(`order ${name} of ${claims.requester.user}: ${what}`);
  }

  async function run(signal: AbortSignal): Promise<void> {
    await informer.run(signal);
    await Promise.all(running.values());
  }

  return { run, sweep, lastAnswer: () => lastAnswer };
}

/** Only the process that waits can read it. */
async function sealed(answer: OrderAnswer, key: OrderClaims['answerKey']): Promise<string> {
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(answer)))
    .setProtectedHeader(ANSWER_ALGORITHMS)
    .encrypt(await importJWK(key as JWK, ANSWER_ALGORITHMS.alg));
}
