import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtProgram } from '../support/built-program.ts';
import { alternate, type Round, rowOf, type Settings } from '../support/compare.ts';
import { childrenCpuMs } from '../support/cpu.ts';
import { median } from '../support/numbers.ts';
import type { Report } from '../support/report.ts';
import { SyncSides } from '../support/sync-sides.ts';

const CLUSTERS = 10_000;
const LIMIT_SECONDS = 60;
const CPU_SHARE = 0.5;
const FLOOR = fileURLToPath(new URL('../support/sync-floor.ts', import.meta.url));

/**
 * `clusterpass sync export --once` of a fleet into an empty hub, and again into the hub that has everything. Fleet and
 * hub are in this process, so the figures are those of the export alone.
 */
export async function benchSync(settings: Settings): Promise<Report> {
  const sides = await new SyncSides(CLUSTERS).start();
  const home = mkdtempSync(join(tmpdir(), 'clusterpass-sync-'));
  const seconds: number[] = [];
  const steady: Cost[] = [];
  try {
    writeFileSync(join(home, 'hub.yaml'), sides.kubeconfig);
    const env = { ...process.env, HOME: home, CLUSTERPASS_SERVER: sides.url, CLUSTERPASS_TOKEN: 'token-of-the-bench' };
    const args = ['sync', 'export', '--kubeconfig', join(home, 'hub.yaml'), '--namespace', 'inventory', '--once'];
    const program = [builtProgram(), ...args];
    // Fills the compile cache.
    await costOf(program, env);
    const measured = async (run: () => Promise<Cost>): Promise<Round> => {
      sides.clear();
      const { cpuMs, wallMs } = await run();
      if (sides.complete !== CLUSTERS) throw new Error(`the hub has ${sides.complete} of ${CLUSTERS} profiles`);
      return { rate: (CLUSTERS / wallMs) * 1000, cpuPerUnit: (cpuMs * 1000) / CLUSTERS };
    };
    const rounds = await alternate(
      settings,
      async () => {
        const round = await measured(() => costOf(program, env));
        seconds.push(CLUSTERS / round.rate);
        sides.writes = 0;
        steady.push(await costOf(program, env));
        if (sides.writes > 0) throw new Error(`${sides.writes} writes although nothing has changed`);
        return round;
      },
      () => measured(() => costOf([FLOOR, sides.url], env)),
    );
    const about = 'export of 10,000 clusters into an empty hub; the floor sends the same requests and compares nothing';
    const row = rowOf({ name: 'export', unit: 'clusters', about, goal: { cpuShare: CPU_SHARE } }, rounds);
    return {
      rows: [row],
      figures: [
        { name: 'export of 10,000 clusters', value: median(seconds), unit: 's', limit: LIMIT_SECONDS },
        {
          name: 'the same when nothing has changed',
          value: median(steady.map(({ cpuMs }) => cpuMs)),
          unit: 'ms of CPU',
        },
      ],
    };
  } finally {
    sides.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function costOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Cost> {
  const cpuBefore = childrenCpuMs();
  const begun = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
  return { wallMs: performance.now() - begun, cpuMs: childrenCpuMs() - cpuBefore };
}
