import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtPlugin } from '../support/built-program.ts';
import type { Settings } from '../support/compare.ts';
import { childrenCpuMs } from '../support/cpu.ts';
import { median } from '../support/numbers.ts';
import type { Figure, Report } from '../support/report.ts';

const STARTS_PER_ROUND = 4;
const EMPTY = 'an empty program';

/** For the duration on an idle machine. A check or a new token is a request, too. */
const LIMITS_MS: Readonly<Record<string, number>> = {
  'a cached token': 80,
  'a cached token, which the server checks': 150,
  'a new token': 150,
};

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/**
 * One run of `clusterpass credential` in a cold process, beside that of an empty program in the same round. The compile
 * cache is warm. The server answers at once, so that the figure is the start of the plugin.
 */
export async function benchCredential({ rounds }: Settings): Promise<Report> {
  const home = mkdtempSync(join(tmpdir(), 'clusterpass-credential-'));
  const server = createServer((req, res) => {
    req.resume();
    const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
    res.writeHead(201, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ status: { token: 'a.b.c', expirationTimestamp } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    writeFileSync(join(home, 'token'), 'token-of-the-benchmark');
    const env = { ...process.env, HOME: home, CLUSTERPASS_SERVER: url, CLUSTERPASS_AS: 'ci/builder' };
    const args = [await builtPlugin(), 'credential', '--cluster', 'prod'];
    const withToken = { ...env, CLUSTERPASS_TOKEN: 'token-of-the-benchmark' };
    const sides: Readonly<Record<string, () => Promise<Cost>>> = {
      [EMPTY]: () => costOf(['-e', '0'], env),
      'a new token': () => costOf(args, { ...env, CLUSTERPASS_TOKEN_FILE: join(home, 'token') }),
      // A parent process that runs the plugin twice has got a 401.
      'a cached token, which the server checks': () => costOf(args, withToken),
      'a cached token': () => costOf(args, withToken, NEW_PARENT),
    };
    // Fills the compile cache and the cache of tokens.
    for (const side of Object.values(sides)) for (let run = 0; run < 2; run++) await side();
    const costs = new Map(Object.keys(sides).map((name) => [name, [] as Cost[]]));
    for (let start = 0; start < rounds * STARTS_PER_ROUND; start++) {
      for (const [name, side] of Object.entries(sides)) costs.get(name)?.push(await side());
    }
    const emptyMs = meanCpuMs(costs.get(EMPTY) ?? []);
    return { figures: [...costs].flatMap(([name, all]) => figuresOf(name, all, emptyMs)) };
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function figuresOf(name: string, all: readonly Cost[], emptyMs: number): Figure[] {
  const limit = LIMITS_MS[name];
  const cpuMs = meanCpuMs(all);
  return [
    {
      name: `duration of ${name}`,
      value: median(all.map(({ wallMs }) => wallMs)),
      unit: 'ms',
      ...(limit === undefined ? {} : { limit }),
    },
    { name: `CPU time of ${name}`, value: cpuMs, unit: 'ms' },
    // On a busy machine only this figure is meaningful.
    ...(name === EMPTY ? [] : [{ name: `CPU time of ${name}, by that of ${EMPTY}`, value: cpuMs / emptyMs, unit: '' }]),
  ];
}

/** The mean, because the kernel counts in hundredths of a second. */
const meanCpuMs = (all: readonly Cost[]): number => all.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / all.length;

/** A shell that starts the program and waits for it, as each kubectl is another parent. */
const NEW_PARENT = ['/bin/sh', '-c', '"$@"; exit $?', 'sh'] as const;

async function costOf(args: readonly string[], env: NodeJS.ProcessEnv, parent: readonly string[] = []): Promise<Cost> {
  const cpuBefore = childrenCpuMs();
  const begun = performance.now();
  const [file = '', ...rest] = [...parent, process.execPath, ...args];
  const child: ChildProcess = spawn(file, rest, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const wallMs = performance.now() - begun;
  if (code !== 0 || (args[0] !== '-e' && !output.includes('ExecCredential'))) throw new Error(`the plugin: ${output}`);
  return { wallMs, cpuMs: childrenCpuMs() - cpuBefore };
}
