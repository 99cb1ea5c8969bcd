import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { blocksOf, isRun } from '../documents/support/blocks.ts';

const run = promisify(execFile);

/** The commands of README.md that the tests run, for the address of this server and the program of an artefact. */
const readmeScript = (url: string, program: string): string =>
  blocksOf('README.md')
    .filter(isRun)
    .map(({ text }) => text)
    .join('\n')
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll('bin/clusterpass.mjs', program)
    .replaceAll('.clusterpass/', 'data/')
    // As long as the three seconds of the tour.
    .replace('timeoutSeconds=10', 'timeoutSeconds=4');

/** How an installed program is started. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

export interface TourOptions {
  /** For state; removed by the caller. */
  readonly folder: string;
  /** The root directory of the program, if it is another one. */
  readonly root?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly clusterpass: Command;
  /** The kubectl plugin, where it is installed. */
  readonly plugin?: Command;
}

/** Does what the README's tour does, with an installed program: serve the demo, list, issue, and use the commands. */
export async function takeTour({ folder, root = '', env, clusterpass, plugin }: TourOptions): Promise<void> {
  const home = join(folder, 'tour');
  await mkdir(home, { recursive: true });
  await chmod(home, 0o777);
  const seen = home.slice(root.length);
  const own = { ...env, HOME: seen };
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [
    ...clusterpass.args,
    'serve',
    '--demo',
    '--data-dir',
    join(seen, 'data'),
    '--listen',
    `127.0.0.1:${port}`,
  ];
  const server = spawn(clusterpass.file, args, { cwd: home, env: own, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    await servesAt(server, url);
    const token = async (name: string): Promise<string> =>
      (await readFile(join(home, 'data', name === 'admin' ? 'admin.token' : `demo/${name}.token`), 'utf8')).trim();
    const headers = async (name: string): Promise<Record<string, string>> => ({
      Authorization: `Bearer ${await token(name)}`,
      'Content-Type': 'application/json',
    });

    for (const [name, count] of [
      ['admin', 12],
      ['devi', 7],
      ['carl', 1],
    ] as const) {
      const list = await fetch(`${url}/auth/v1/clusters`, { headers: await headers(name) });
      expect(((await list.json()) as { items: unknown[] }).items, name).toHaveLength(count);
    }
    const builder = `${url}/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token`;
    const body = JSON.stringify({ spec: { audiences: ['vault'], expirationSeconds: 600 } });
    const issued = await fetch(builder, { method: 'POST', headers: await headers('carl'), body });
    expect(issued.status).toBe(201);
    expect(((await issued.json()) as { status: { token: string } }).status.token).toMatch(/^eyJ/);
    expect((await fetch(builder, { method: 'POST', headers: await headers('devi'), body })).status).toBe(403);
    const page = await fetch(`${url}/console/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')]);

    const cli = async ({ file, args: first }: Command, ...rest: string[]): Promise<string> =>
      (await run(file, [...first, ...rest], { cwd: home, env: own })).stdout;
    await cli(clusterpass, 'login', '--server', url, '--token-file', join(seen, 'data/demo/carl.token'));
    expect(await cli(clusterpass, 'get', 'clusters')).toContain('prod-eu-1');
    const pass = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'prod-eu-1', '--audience', 'vault'];
    expect(await cli(clusterpass, ...pass)).toMatch(/^eyJ/);
    if (plugin === undefined) return;
    expect(await cli(plugin, 'get', 'clusters')).toContain('prod-eu-1');
    const { stdout } = await run('/bin/bash', ['-euo', 'pipefail', '-c', readmeScript(url, clusterpass.file)], {
      cwd: home,
      env: { ...own, PATH: `${env.PATH}:${process.env.PATH}` },
    });
    expect(stdout).toMatch(/^12\n7\n1\n/);
    expect(stdout).toMatch(/\}200\n401\n/);
    expect([stdout.match(/"ADDED"/g)?.length, stdout.match(/"DELETED"/g)?.length]).toEqual([4, 3]);
    expect(stdout).toMatch(/^eyJ[\w.-]+$/m);
  } finally {
    if (server.exitCode === null) {
      const exited = once(server, 'exit');
      server.kill();
      await exited;
    }
  }
}

async function servesAt(server: ChildProcess, url: string): Promise<void> {
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (text) => (output += String(text)));
  while (server.exitCode === null) {
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    await ready?.text();
    if (ready?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the server ended before it served: ${output}`);
}

/** The port of a listener that was just closed. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
