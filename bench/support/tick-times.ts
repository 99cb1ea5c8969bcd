import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './processes.ts';

/** The longest ticks of a server's event loop, recorded inside the server by `tick-probe.mjs`. */
export class TickTimes {
  readonly #file: string;
  #read = 0;

  private constructor(file: string) {
    this.#file = file;
  }

  static async prepare(): Promise<TickTimes> {
    return new TickTimes(join(await makeFolder(), 'ticks'));
  }

  /** Options of Node that load the probe into the server. */
  get nodeArgs(): string[] {
    return ['--import', `${new URL('./tick-probe.mjs', import.meta.url)}?${encodeURIComponent(this.#file)}`];
  }

  /** CPU time of the longest tick since the last call, in milliseconds; 0 when every tick was short. */
  takeLongest(): number {
    const all = readFileSync(this.#file, 'utf8').split('\n').map(Number);
    const fresh = all.slice(this.#read);
    this.#read = all.length - 1;
    return Math.max(...fresh);
  }
}
