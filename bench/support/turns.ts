import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './processes.ts';

/** The longest turn of a server's event loop since the last question, told from inside (`loop-probe.mjs`). */
export class Turns {
  readonly #file: string;
  #seen = 0;

  private constructor(file: string) {
    this.#file = file;
  }

  static async prepare(): Promise<Turns> {
    return new Turns(join(await makeFolder(), 'turns'));
  }

  /** What the program is to be started with. */
  get nodeArgs(): string[] {
    return ['--import', `${new URL('./loop-probe.mjs', import.meta.url)}?${encodeURIComponent(this.#file)}`];
  }

  /** In milliseconds that it computed; 0 when none was worth telling. */
  takeLongest(): number {
    const all = readFileSync(this.#file, 'utf8').split('\n').map(Number);
    const fresh = all.slice(this.#seen);
    this.#seen = all.length - 1;
    return Math.max(...fresh);
  }
}
