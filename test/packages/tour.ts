import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { freePorts } from '../conformance/etcd-process.ts';
import { blocksOf, execute, isRun } from '../documents/support/blocks.ts';

const run = promisify(execFile);

/** The section of README.md that is the tour. */
export const TOUR = 'Five minutes';

/** The commands of the tour, for the address of this server and the program of an artefact. */
const tourScript = (url: string, program: string): string =>
  blocksOf('README.md')
    .filter((block) => block.section === TOUR && isRun(block))
    .map((block) => execute(block, (text) => text))
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
  /** The user that it runs as; default: the user of the tests. */
  readonly uid?: number;
}

export interface Served {
  /** Serves the demo fleet. */
  readonly server: Command;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly url: string;
  /** The data directory, as this process sees it. */
  readonly data: string;
}

/** Starts the server, lists and issues as the tour does, calls `visit`, and stops the server. */
export async function serve({ server, cwd, env, url, data }: Served, visit = async () => {}): Promise<void> {
  const { file, args, uid } = server;
  const user = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn(file, args, { cwd, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    await servesAt(child, url);
    await listAndIssue(url, data);
    await visit();
  } finally {
    if (child.exitCode === null) {
      const exited = once(child, 'exit');
      child.kill();
      expect(await exited, 'stops when it is asked to').toEqual([0, null]);
    }
  }
}

async function listAndIssue(url: string, data: string): Promise<void> {
  const headers = async (name: string): Promise<Record<string, string>> => ({
    Authorization: `Bearer ${(await readFile(join(data, name === 'admin' ? 'admin.token' : `demo/${name}.token`), 'utf8')).trim()}`,
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
}

export interface TourOptions {
  /** For state; removed by the caller. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly clusterpass: Command;
  /** The kubectl plugin, and the command that kubeconfigs have then. */
  readonly plugin: Command & { readonly command: string };
}

interface Kubeconfig {
  readonly users: readonly {
    readonly user: { readonly exec: { readonly command: string; readonly args: string[] } };
  }[];
}

/** The tour of the README with an installed program: serves the demo fleet and runs the commands, with this program. */
export async function takeTour({ folder, env, clusterpass, plugin }: TourOptions): Promise<void> {
  const own = { ...env, HOME: folder };
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const args = [...clusterpass.args, 'serve', '--demo', '--data-dir', 'data', '--listen', `127.0.0.1:${port}`];
  const server = { file: clusterpass.file, args };
  await serve({ server, cwd: folder, env: own, url, data: join(folder, 'data') }, async () => {
    const { stdout } = await run('/bin/bash', ['-euo', 'pipefail', '-c', tourScript(url, clusterpass.file)], {
      cwd: folder,
      env: { ...own, PATH: `${env.PATH}:${process.env.PATH}` },
    });
    expect(stdout).toMatch(/^12\n7\n1\n/);
    expect(stdout).toMatch(/\}200\n401\n/);
    expect([stdout.match(/"ADDED"/g)?.length, stdout.match(/"DELETED"/g)?.length]).toEqual([4, 3]);
    expect(stdout).toMatch(/^prod-eu-1 .* True /m);
    expect(stdout).toMatch(/^eyJ[\w.-]+$/m);
    expect(await readFile(join(folder, 'data/carl.kubeconfig'), 'utf8')).toContain('prod-eu-1');
    const listed = await run(plugin.file, [...plugin.args, 'get', 'clusters'], { cwd: folder, env: own });
    expect(listed.stdout).toContain('prod-eu-1');
    for (const { file, args: before } of [clusterpass, plugin]) {
      const write = [...before, 'kubeconfig', '--as', 'ci/builder', '--output', '-'];
      const { users } = parse((await run(file, write, { cwd: folder, env: own })).stdout) as Kubeconfig;
      const { command, args: flags } = users[0]?.user.exec ?? { command: '', args: [] };
      expect(command, 'the command for kubectl').toBe(plugin.command);
      // As kubectl runs it.
      const given = await run(command, flags, { cwd: folder, env: own });
      expect(JSON.parse(given.stdout)).toMatchObject({ kind: 'ExecCredential', status: { token: expect.any(String) } });
    }
  });
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
