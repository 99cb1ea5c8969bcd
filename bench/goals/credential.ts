import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Figure, median, type Settings, spread } from '../support/measure.ts';
import { atEnd, builtProgram, type Cost, costOf, makeFolder } from '../support/processes.ts';

const STARTS_PER_ROUND = 4;
/** A shell that starts the program and waits for it, as each kubectl is another parent. */
const NEW_PARENT = ['/bin/sh', '-c', '"$@"; exit $?', 'sh'];

interface Side {
  readonly name: string;
  /** Milliseconds on an idle machine. A check or a new token is a request, too. */
  readonly limit: number;
  readonly start: () => Promise<Cost>;
}

/**
 * One run of `clusterpass credential` in a cold process, with a warm compile cache. The server answers at once, so that
 * the figure is the start of the plugin.
 */
export async function run({ rounds }: Settings): Promise<Figure[]> {
  const home = await makeFolder();
  const server = createServer((req, res) => {
    req.resume();
    const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
    res.writeHead(201, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ status: { token: 'a.b.c', expirationTimestamp } }));
  });
  server.listen(0, '127.0.0.1');
  atEnd(async () => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(join(home, 'token'), 'token-of-the-benchmark');
  const shared = { ...process.env, HOME: home, CLUSTERPASS_SERVER: url, CLUSTERPASS_AS: 'ci/builder' };
  const withFile = { ...shared, CLUSTERPASS_TOKEN_FILE: join(home, 'token') };
  const withToken = { ...shared, CLUSTERPASS_TOKEN: 'token-of-the-benchmark' };
  const args = [await builtProgram(), 'credential', '--cluster', 'prod'];
  const plugin = async (env: NodeJS.ProcessEnv, parent: readonly string[] = []): Promise<Cost> => {
    const cost = await costOf(args, { env, parent });
    if (!cost.output.includes('ExecCredential')) throw new Error(`the plugin: ${cost.output}`);
    return cost;
  };
  const sides: readonly Side[] = [
    { name: 'a new token', limit: 150, start: () => plugin(withFile) },
    // A parent process that runs the plugin twice has got a 401.
    { name: 'a cached token, which the server checks', limit: 150, start: () => plugin(withToken) },
    { name: 'a cached token', limit: 80, start: () => plugin(withToken, NEW_PARENT) },
  ];
  // Fills the compile cache and the cache of tokens.
  for (const { start } of sides) for (let once = 0; once < 2; once++) await start();
  const costs = new Map(sides.map((side) => [side, [] as Cost[]]));
  for (let round = 0; round < rounds * STARTS_PER_ROUND; round++) {
    for (const [{ start }, all] of costs) all.push(await start());
  }
  return [...costs].map(([{ name, limit }, all]) => ({
    name: `duration of ${name}`,
    ...spread(all.map(({ wallMs }) => wallMs)),
    unit: 'ms',
    limit,
    // On a busy machine only this figure is meaningful.
    note: `CPU time ${median(all.map(({ cpuMs }) => cpuMs)).toFixed(0)} ms`,
  }));
}
