import { setTimeout as delay } from 'node:timers/promises';
import { tokenPath } from '../e2e/support/objects.ts';
import { type Answer, tokenOf } from '../e2e/support/server.ts';
import { Balancer } from './balancer.ts';
import { CALL_MS, type World } from './clients.ts';
import { CHAOS_USER } from './revocation-clients.ts';

/** From this time after the death of a replica, requests must not fail. */
export const NOTICED_MS = 2_000;
const MAX_ERROR_RATE = 0.001;
const PAUSE_MS = 5;
const BODY = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };

/** Requests tokens through a load balancer, and uses them at random replicas. Counts failures after a death. */
export class TokenClients {
  readonly #world: World;
  readonly #balancer: Balancer;
  #diedAt: number | undefined;
  #requests = 0;
  readonly counts = {
    asked: 0,
    failed: 0,
    /** Requests in the time after a death in which none may fail. */
    askedAfterDeath: 0,
    failedAfterDeath: 0,
    deaths: 0,
    accepted: 0,
  };
  /** Errors of those requests, with their number. */
  readonly #errors = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    this.#balancer = new Balancer(world.replicas);
  }

  died(): void {
    this.#diedAt = performance.now();
    this.counts.deaths += 1;
  }

  /** Another fault begins: later failures may be due to it. */
  otherFault(): void {
    this.#diedAt = undefined;
  }

  async run(clients: number): Promise<void> {
    const { running } = this.#world;
    const ask = async (): Promise<void> => {
      while (running()) {
        await this.#askOnce();
        await delay(PAUSE_MS + this.#world.pauseMs);
      }
    };
    await Promise.all([this.#balancer.check(running), ...Array.from({ length: clients }, ask)]);
  }

  check(): void {
    const { askedAfterDeath, failedAfterDeath } = this.counts;
    if (failedAfterDeath < MAX_ERROR_RATE * askedAfterDeath || failedAfterDeath === 0) return;
    this.#world.checker.problem(
      'token errors after a death',
      `${failedAfterDeath} of ${askedAfterDeath} requests failed more than ${NOTICED_MS} ms after a death: ${JSON.stringify([...this.#errors])}`,
    );
  }

  /** Every second request goes through HAProxy, if there is one. */
  async #request(signal: AbortSignal): Promise<Pick<Answer, 'code' | 'text' | 'json'>> {
    const { front } = this.#world;
    this.#requests += 1;
    if (front === undefined || this.#requests % 2 === 0) {
      return this.#balancer.call('POST', tokenPath(), { body: BODY, signal });
    }
    const headers = { Authorization: `Bearer ${tokenOf(CHAOS_USER)}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify(BODY);
    const answer = await fetch(`${front}${tokenPath()}`, { method: 'POST', headers, body, signal });
    const text = await answer.text();
    return { code: answer.status, text, json: answer.status === 201 ? JSON.parse(text) : undefined };
  }

  async #askOnce(): Promise<void> {
    const diedAt = this.#diedAt;
    const isLater = diedAt !== undefined && performance.now() >= diedAt + NOTICED_MS;
    const signal = AbortSignal.timeout(CALL_MS);
    let reason = '';
    const issued = await this.#request(signal).catch((error: Error) => {
      reason = `${error.name} ${error.cause ?? ''}`;
      return undefined;
    });
    const failed = issued?.code !== 201;
    if (failed && issued !== undefined) reason = `${issued.code} ${issued.text.slice(0, 200)}`;
    this.counts.asked += 1;
    if (failed) this.counts.failed += 1;
    // Not counted when another fault has begun in the meantime.
    if (isLater && this.#diedAt === diedAt) {
      this.counts.askedAfterDeath += 1;
      if (failed) {
        this.counts.failedAfterDeath += 1;
        this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
      }
    }
    if (issued === undefined || issued.code >= 500) return;
    if (failed) return this.#world.checker.problem('token refused', `${issued.code} ${issued.text}`);
    const token: string = issued.json.status.token;
    const { replicas, checker, isClockRight } = this.#world;
    const shown = await replicas[Math.floor(Math.random() * replicas.length)]
      ?.call('GET', '/auth/v1/clusters?resourceVersion=0', { token, signal: AbortSignal.timeout(CALL_MS) })
      .catch(() => undefined);
    if (shown?.code === 200) this.counts.accepted += 1;
    else if (shown?.code === 401 && isClockRight())
      checker.problem('token refused', 'a replica refused a token of another');
  }
}
