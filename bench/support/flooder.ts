import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { tokenOf } from '../../test/e2e/support/server.ts';
import { lowerPriority } from './cpu.ts';
import type { FloodJob, FloodOutcome } from './flood-client.ts';

/** A flooding client in a separate process, with the lowest priority (`flood-client.ts`). */
export class Flooder {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(): Promise<Flooder> {
    const child = fork(fileURLToPath(new URL('flood-client.ts', import.meta.url)));
    await once(child, 'message');
    lowerPriority(child.pid ?? 0);
    return new Flooder(child);
  }

  async flood(port: number, job: Pick<FloodJob, 'flood' | 'seconds' | 'rate'>): Promise<FloodOutcome> {
    const outcome = once(this.#child, 'message') as Promise<[FloodOutcome]>;
    this.#child.send({ ...job, port, token: tokenOf(FLOODING_USER) } satisfies FloodJob);
    return (await outcome)[0];
  }

  end(): void {
    this.#child.disconnect();
  }
}

/** The user of floods that need a token, and the user of the client that is measured. */
export const FLOODING_USER = 'flooder';
export const MEASURED_USER = 'measured';
