import { setTimeout as delay } from 'node:timers/promises';
import { tokenPath } from '../e2e/support/objects.ts';
import { Balancer } from './balancer.ts';
import { CALL_MS, type World } from './clients.ts';

/** From then on after the death of a replica nobody may notice it any more. */
export const NOTICED_MS = 2_000;
const MOST_ERRORS = 0.001;
const PAUSE_MS = 5;
const BODY = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };

/** Asks for tokens through a load balancer, and shows what it gets to any replica. Counts whom a death has hurt. */
export class TokenClients {
  readonly #world: World;
  readonly #balancer: Balancer;
  #diedAt: number | undefined;
  readonly counts = {
    asked: 0,
    failed: 0,
    /** Of these: in the time after a death in which no request may fail. */
    askedAfterDeath: 0,
    failedAfterDeath: 0,
    deaths: 0,
    accepted: 0,
  };
  /** What those who asked too late after a death got instead of a token. */
  readonly #answers = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    this.#balancer = new Balancer(world.replicas);
  }

  died(): void {
    this.#diedAt = performance.now();
    this.counts.deaths += 1;
  }

  /** Something else happens now, and what fails may be due to that. */
  somethingElse(): void {
    this.#diedAt = undefined;
  }

  async run(clients: number): Promise<void> {
    const { running } = this.#world;
    const ask = async (): Promise<void> => {
      while (running()) {
        await this.#askOnce();
        await delay(PAUSE_MS);
      }
    };
    await Promise.all([this.#balancer.check(running), ...Array.from({ length: clients }, ask)]);
  }

  judge(): void {
    const { askedAfterDeath, failedAfterDeath } = this.counts;
    if (failedAfterDeath < MOST_ERRORS * askedAfterDeath || failedAfterDeath === 0) return;
    this.#world.ledger.problem(
      'token errors after a death',
      `${failedAfterDeath} of ${askedAfterDeath} requests failed more than ${NOTICED_MS} ms after a death: ${JSON.stringify([...this.#answers])}`,
    );
  }

  async #askOnce(): Promise<void> {
    const diedAt = this.#diedAt;
    const isLater = diedAt !== undefined && performance.now() >= diedAt + NOTICED_MS;
    const signal = AbortSignal.timeout(CALL_MS);
    let reason = '';
    const issued = await this.#balancer.call('POST', tokenPath(), { body: BODY, signal }).catch((error: Error) => {
      reason = `${error.name} ${error.cause ?? ''}`;
      return undefined;
    });
    const failed = issued?.code !== 201;
    if (failed && issued !== undefined) reason = `${issued.code} ${issued.text.slice(0, 200)}`;
    this.counts.asked += 1;
    if (failed) this.counts.failed += 1;
    // What another fault began to break meanwhile is not due to the death.
    if (isLater && this.#diedAt === diedAt) {
      this.counts.askedAfterDeath += 1;
      if (failed) {
        this.counts.failedAfterDeath += 1;
        this.#answers.set(reason, (this.#answers.get(reason) ?? 0) + 1);
      }
    }
    if (issued === undefined || issued.code >= 500) return;
    if (failed) return this.#world.ledger.problem('token refused', `${issued.code} ${issued.text}`);
    const token: string = issued.json.status.token;
    const { replicas, ledger } = this.#world;
    const shown = await replicas[Math.floor(Math.random() * replicas.length)]
      ?.call('GET', '/auth/v1/clusters?resourceVersion=0', { token, signal: AbortSignal.timeout(CALL_MS) })
      .catch(() => undefined);
    if (shown?.code === 200) this.counts.accepted += 1;
    else if (shown?.code === 401) ledger.problem('token refused', 'a replica refused a token of another');
  }
}
