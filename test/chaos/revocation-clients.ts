import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { tokenPath } from '../e2e/support/objects.ts';
import { type Server, tokenOf } from '../e2e/support/server.ts';
import { CALL_MS, type World } from './clients.ts';

/** B30: this long after the acknowledgement, every replica that etcd answers refuses the token. */
const PROMISE_MS = 1_000;
/** How long after the acknowledgement the token is tried. */
const OBSERVE_MS = 3_000;
const PAUSE_MS = 100;
const CONSISTENT = '/auth/v1/clusters';
const FROM_MEMORY = `${CONSISTENT}?resourceVersion=0`;
const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';

/**
 * When a replica must refuse a revoked token (B30). `within a second` holds where etcd answers in less than 0.7 s, so
 * it depends on the machine. `after a consistent read` does not: a replica that has answered a consistent read after
 * the acknowledgement acts on the revocation.
 */
export type RevocationRule = 'within a second' | 'after a consistent read';

/** Issues tokens, revokes them at any replica, and tries them at all replicas afterwards. */
export class RevocationClients {
  readonly #world: World;
  /** Replicas that etcd does not answer: they go on with what they know (B12). */
  readonly #isCutOff: (replica: number, sentAt: number) => boolean;
  readonly #rule: RevocationRule;

  constructor(world: World, rule: RevocationRule, isCutOff: (replica: number, sentAt: number) => boolean) {
    this.#world = world;
    this.#rule = rule;
    this.#isCutOff = isCutOff;
  }

  async run(clients: number): Promise<void> {
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (this.#world.running()) {
          await this.#revokeOne().catch(() => undefined);
          await delay(PAUSE_MS + this.#world.pauseMs);
        }
      }),
    );
  }

  async #revokeOne(): Promise<void> {
    const { replicas, checker } = this.#world;
    const body = { spec: { audiences: [] } };
    const issued = await this.#any().call('POST', tokenPath(), { body, ...this.#options() });
    if (issued.code !== 201) return;
    const { token } = issued.json.status;
    // Every replica has accepted it once, so that its caches are warm.
    await Promise.all(
      replicas.map((one) => one.call('GET', FROM_MEMORY, { ...this.#options(), token }).catch(() => {})),
    );
    const at = Math.floor(Math.random() * replicas.length);
    const path = `${ISSUED_TOKENS}/${decodeJwt(token).jti}`;
    const { code } = await (replicas[at] as Server).call('DELETE', path, this.#options());
    if (code !== 200) return;
    checker.revoked();
    if (this.#rule === 'within a second') await this.#tryForAWhile(token, at);
    else await Promise.all(replicas.map((replica) => this.#tryAfterRead(token, replica)));
  }

  async #tryForAWhile(token: string, at: number): Promise<void> {
    const { replicas, checker, running } = this.#world;
    const acknowledged = performance.now();
    const asked: Promise<void>[] = [];
    while (performance.now() < acknowledged + OBSERVE_MS && running()) {
      for (const [index, replica] of replicas.entries()) {
        const sentAt = performance.now();
        const since = acknowledged + (index === at ? 0 : PROMISE_MS);
        if (sentAt <= since) continue;
        asked.push(
          replica
            .call('GET', FROM_MEMORY, { token, signal: AbortSignal.timeout(CALL_MS) })
            .then((answer) => {
              checker.triedRevoked();
              if (answer.code !== 200 || this.#isCutOff(index, sentAt)) return;
              const late = Math.round(sentAt - acknowledged);
              checker.problem('late revocation', `replica ${index} accepted a token ${late} ms after its revocation`);
            })
            .catch(() => undefined),
        );
      }
      await delay(200);
    }
    await Promise.all(asked);
  }

  /** Both requests use one connection: of a replica with workers, the same worker answers them. */
  async #tryAfterRead(token: string, { url }: Server): Promise<void> {
    const { checker } = this.#world;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const read = await get(agent, url, CONSISTENT, tokenOf(CHAOS_USER));
      if (read.code !== 200) return;
      const used = await get(agent, url, FROM_MEMORY, token);
      if (used.connection !== read.connection) return;
      checker.triedRevoked();
      if (used.code === 200)
        checker.problem('late revocation', `${url} accepted a revoked token after a consistent read`);
    } catch {
      // The replica is dead or cut off.
    } finally {
      agent.destroy();
    }
  }

  #any(): Server {
    const { replicas } = this.#world;
    return replicas[Math.floor(Math.random() * replicas.length)] as Server;
  }

  #options() {
    return { signal: AbortSignal.timeout(CALL_MS), token: tokenOf(CHAOS_USER) };
  }
}

/** May do everything, with one token at all replicas. */
export const CHAOS_USER = 'chaos';

interface Got {
  readonly code: number;
  /** The client's port. */
  readonly connection: number | undefined;
}

function get(agent: Agent, url: string, path: string, token: string): Promise<Got> {
  const { promise, resolve, reject } = Promise.withResolvers<Got>();
  const headers = { Authorization: `Bearer ${token}` };
  request(new URL(path, url), { agent, headers, signal: AbortSignal.timeout(CALL_MS) }, (response) => {
    const { statusCode: code = 0, socket } = response;
    const connection = socket.localPort;
    response.on('error', reject).on('end', () => resolve({ code, connection }));
    response.resume();
  })
    .on('error', reject)
    .end();
  return promise;
}
