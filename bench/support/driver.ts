import { type ChildProcess, fork } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command, Done, Work } from './driver-process.ts';
import { atEnd, kill, makeFolder, type ServerProcess } from './processes.ts';

export type { Done, Requests, Work } from './driver-process.ts';

/** A client in a separate process (`driver-process.ts`). */
export class Driver {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  /** Ends the process. */
  readonly end: () => Promise<void>;
  #last = 0;

  constructor() {
    this.#child = fork(fileURLToPath(new URL('driver-process.ts', import.meta.url)), { stdio: 'inherit' });
    this.#child.on('message', ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) pending?.resolve(value);
      else pending?.reject(new Error(error));
    });
    this.end = atEnd(() => kill(this.#child));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  send(command: Command): Promise<unknown> {
    const id = ++this.#last;
    const pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    this.#child.send({ id, command });
    return pending.promise;
  }

  async work(work: Work): Promise<Done> {
    return (await this.send({ do: 'work', ...work })) as Done;
  }

  /** Does the work over new connections, which are opened before. */
  async run(
    { port, cpu }: ServerProcess,
    work: Work & { readonly total: number },
  ): Promise<Done & { rate: number; cpuPerUnit: number }> {
    await this.send({ do: 'connect', port, connections: work.connections });
    const before = cpu();
    const done = await this.work(work);
    const cpuPerUnit = (cpu() - before) / work.total;
    await this.send({ do: 'close' });
    return { ...done, rate: work.total / done.seconds, cpuPerUnit };
  }
}

/** Writes request texts to a file of the drivers. */
export async function requestFile(texts: readonly string[]): Promise<{ readonly file: string }> {
  const file = join(await makeFolder(), 'requests.json');
  await writeFile(file, JSON.stringify(texts));
  return { file };
}
