import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, CallOptions, Server } from '../e2e/support/server.ts';

const CHECK_EVERY_MS = 200;
const CHECK_MS = 2_000;

/**
 * A load balancer: sends a request to a replica that is ready according to /readyz, and to another one when the
 * connection fails. It does not retry after a response or a timeout.
 */
export class Balancer {
  readonly #replicas: readonly Server[];
  readonly #unready = new Set<number>();

  /** The elements of the array may be replaced during the run. */
  constructor(replicas: readonly Server[]) {
    this.#replicas = replicas;
  }

  /** Polls /readyz of the replicas while `running`. */
  async check(running: () => boolean): Promise<void> {
    await Promise.all(
      this.#replicas.map(async (_, index) => {
        while (running()) {
          const answer = await this.#replicas[index]
            ?.call('GET', '/readyz', { token: null, signal: AbortSignal.timeout(CHECK_MS) })
            .catch(() => undefined);
          if (answer?.code === 200) this.#unready.delete(index);
          else this.#unready.add(index);
          await delay(CHECK_EVERY_MS);
        }
      }),
    );
  }

  async call(method: string, path: string, options: CallOptions): Promise<Answer> {
    const tried = new Set<number>();
    for (;;) {
      const index = this.#choose(tried);
      tried.add(index);
      try {
        return await (this.#replicas[index] as Server).call(method, path, options);
      } catch (error) {
        this.#unready.add(index);
        const wasCut = error instanceof TypeError;
        if (!wasCut || tried.size === this.#replicas.length) throw error;
      }
    }
  }

  #choose(tried: ReadonlySet<number>): number {
    const left = this.#replicas.map((_, index) => index).filter((index) => !tried.has(index));
    const ready = left.filter((index) => !this.#unready.has(index));
    // When no replica is ready, any is tried.
    const from = ready.length > 0 ? ready : left;
    return from[Math.floor(Math.random() * from.length)] ?? 0;
  }
}
