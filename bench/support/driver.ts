import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Command, Done, Work } from './driver-process.ts';
import { atEnd, kill, type ServerProcess } from './processes.ts';

/** A client in a separate process (`driver-process.ts`). */
export class Driver {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #last = 0;

  constructor() {
    this.#child = fork(fileURLToPath(new URL('driver-process.ts', import.meta.url)), { stdio: 'inherit' });
    this.#child.on('message', ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) pending?.resolve(value);
      else pending?.reject(new Error(error));
    });
    atEnd(() => kill(this.#child));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  send(command: Command): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, command });
    });
  }

  /** Does the work over new connections, which are opened before. Adds the server's CPU time for each response. */
  async run({ port, cpu }: Pick<ServerProcess, 'port' | 'cpu'>, work: Work): Promise<Done & { cpuPerUnit: number }> {
    await this.send({ do: 'connect', port, connections: work.connections });
    const before = cpu();
    const done = (await this.send({ do: 'work', ...work })) as Done;
    const cpuPerUnit = (cpu() - before) / work.total;
    await this.send({ do: 'close' });
    return { ...done, cpuPerUnit };
  }
}
