import { checkedList, listWorks } from './list.ts';
import type { Settings } from './support/compare.ts';
import { memoryOf } from './support/cpu.ts';
import { startDesk, startDeskOn } from './support/processes.ts';
import type { Report } from './support/report.ts';

const [SMALL, LARGE] = [10_000, 100_000];

/** What a fleet takes in memory, after it has been listed: a quarter of what kube-apiserver takes, and a gigabyte. */
export async function benchMemory(_: Settings): Promise<Report> {
  const figures = [];
  for (const [clusters, limit] of [[SMALL, 265] as const, [LARGE, 1024] as const]) {
    const desk = await startDesk({ clusters, bindings: 1_000 });
    for (const work of listWorks(clusters)) await checkedList(desk, work);
    const { now, peak } = memoryOf(desk.pid);
    figures.push({ name: `memory with ${clusters} clusters, listed`, value: now, unit: 'MB', limit });
    figures.push({ name: `the most it was with ${clusters} clusters`, value: peak, unit: 'MB' });
    await desk.end();
  }
  return { figures };
}

/** From the start of the process until it serves. */
export async function benchStart({ rounds }: Settings): Promise<Report> {
  const figures = [];
  for (const [clusters, limit] of [[SMALL, undefined] as const, [LARGE, 10] as const]) {
    const first = await startDesk({ clusters, bindings: 1_000 });
    await first.end();
    const starts = [];
    for (let round = 0; round < Math.min(rounds, 3); round++) {
      const desk = await startDeskOn(first.dataDir);
      starts.push(desk);
      await desk.end();
    }
    const least = (values: number[]): number => Math.min(...values);
    const cpu = {
      name: `CPU of a start with ${clusters} clusters`,
      value: least(starts.map((desk) => desk.startCpuSeconds)),
      unit: 's',
    };
    figures.push(limit === undefined ? cpu : { ...cpu, limit });
    figures.push({
      name: `a start with ${clusters} clusters took`,
      value: least(starts.map((desk) => desk.startSeconds)),
      unit: 's',
    });
  }
  return { figures };
}
