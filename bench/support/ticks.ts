import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './processes.ts';

/** The longest ticks of a server's event loop, recorded inside the server by `tick-probe.mjs`. */
export interface TickTimes {
  /** Options of Node that load the probe into the server. */
  readonly nodeArgs: readonly string[];
  /** CPU time of the longest tick since the last call, in milliseconds; 0 when every tick was short. */
  takeLongest(): number;
}

export async function tickTimes(): Promise<TickTimes> {
  const file = join(await makeFolder(), 'ticks');
  let read = 0;
  return {
    nodeArgs: ['--import', `${new URL('./tick-probe.mjs', import.meta.url)}?${encodeURIComponent(file)}`],
    takeLongest: () => {
      const all = readFileSync(file, 'utf8').split('\n').map(Number);
      const fresh = all.slice(read);
      read = all.length - 1;
      return Math.max(...fresh);
    },
  };
}
