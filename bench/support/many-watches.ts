import { memoryOf, processTree } from './cpu.ts';

/** Connections beside the watches: drivers, checks. */
const OTHERS = 400;

/** Arguments of a server for so many watches of one caller, which all come from few addresses. */
export function argsForWatches(watches: number, workers = 1): string[] {
  const most = String(watches + OTHERS);
  // Connections are not spread evenly over the workers, and each may have its part of the limit.
  const connections = String(Math.ceil((watches + OTHERS) * (workers > 1 ? 1.5 : 1)));
  return [
    ...['--max-connections', connections, '--max-connections-per-address', most],
    ...['--max-watches', most, '--max-watches-per-caller', most, '--workers', String(workers)],
  ];
}

/** Resident memory in megabytes of a server and its workers. */
export const memoryOfAll = (pid: number): number => processTree(pid).reduce((sum, each) => sum + memoryOf(each).now, 0);
