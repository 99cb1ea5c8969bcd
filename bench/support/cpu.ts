import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * What a process has computed so far, all its threads together, in microseconds: its own doing, whoever else keeps the
 * machine busy. By the scheduler's count, which is exact to the nanosecond; /proc/<pid>/stat counts in hundredths of a
 * second. Threads that have ended are not in it: ours live as long as their process. With a name, that of the threads
 * of this name alone.
 */
export function cpuOf(pid: number, threadName?: string): number {
  let nanoseconds = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const name = threadName === undefined ? undefined : readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim();
      if (name !== threadName) continue;
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // It ended between the two looks.
    }
  }
  return nanoseconds / 1000;
}

/** Resident memory in megabytes: now, and the most there ever was. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

/** The processes that this one has started. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  });
}

/** From now on this process gets a processor when nobody else wants it: for what stands for the work of other machines. */
export function yieldToOthers(pid: number): void {
  // A priority is that of a thread.
  for (const task of readdirSync(`/proc/${pid}/task`)) setPriority(Number(task), 19);
}

/** The numbers of the processors that this process may use. */
export function processors(): number[] {
  const list = /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** From now on this process, and what it starts, gets no more than so many processors; the same ones each time. */
export function confine(pid: number, count: number): void {
  const allowed = processors().slice(0, count).join(',');
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', allowed, String(pid)]);
}
