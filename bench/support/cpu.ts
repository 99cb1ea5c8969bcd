import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * CPU time of a process so far, in microseconds, over all its threads. The scheduler counts it to the nanosecond
 * (/proc/<pid>/stat counts in hundredths of a second), and other load on the machine is not in it. Threads that have
 * ended are missing; those of Clusterpass live as long as the process.
 */
export function cpuOf(pid: number): number {
  let nanoseconds = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread ended after the directory was read.
    }
  }
  return nanoseconds / 1000;
}

/** CPU time of the children that have ended, which the kernel counts in hundredths of a second. */
export function childrenCpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** Resident memory in megabytes: now, and the highest so far. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

/** The ids of the child processes. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  });
}

/** Gives a process the lowest priority. For processes that would run on other machines outside of a benchmark. */
export function lowerPriority(pid: number): void {
  // On Linux each thread has its own priority.
  for (const task of readdirSync(`/proc/${pid}/task`)) setPriority(Number(task), 19);
}
