import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { PROGRAM } from '../program.ts';
import { runStore } from './support/run-command.ts';

async function ended(child: ChildProcess): Promise<[string, number | null]> {
  const [stderr, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'close')]);
  return [stderr, code];
}

describe('clusterpass store export, of more than can be written', () => {
  let folder: string;
  let args: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-export-'));
    const file = join(folder, 'clusterpass.db');
    const store = await openSqliteStore({ file });
    const value = Buffer.alloc(64 * 1024, 'x');
    for (let i = 0; i < 64; i++) await store.write({ key: `/registry/x/${i}`, value, expect: { absent: true } });
    await store.close();
    args = [PROGRAM, 'store', 'export', '--store', `sqlite:${file}`];
  });

  it('into a file: one line names the file and the problem', async () => {
    const target = join(folder, 'archive');
    // Blocks of 512 or 1,024 bytes, as the shell has it.
    const limited = ['-c', 'ulimit -f 2048; exec "$0" "$@"', process.execPath, ...args, '-f', target];
    const [stderr, code] = await ended(spawn('sh', limited, { stdio: ['ignore', 'ignore', 'pipe'] }));
    const problem = 'the file is larger than this process may write';
    expect([stderr, code]).toEqual([`clusterpass: cannot use ${target}: ${problem}\n`, 1]);
  });

  it('to the standard output: one line names the problem', async () => {
    const full = await open('/dev/full', 'w');
    const [stderr, code] = await ended(spawn(process.execPath, args, { stdio: ['ignore', full.fd, 'pipe'] }));
    await full.close();
    expect([stderr, code]).toEqual(['clusterpass: the output cannot be written: no space left on device\n', 1]);
  });
});

describe('clusterpass store import, of a binding that the API refuses', () => {
  const roleRef = { kind: 'ClusterRole', name: 'x' };
  const whole = { clusters: { all: true }, roleRef };
  it.each<[field: string, key: string, object: object]>([
    ['spec.clustres: Forbidden: unknown field', 'fleetrolebindings/x', { spec: { ...whole, clustres: {} } }],
    ['spec.clusters: Required value', 'fleetrolebindings/x', { spec: { roleRef } }],
    ['spec.expiresAt: Invalid value', 'fleetrolebindings/x', { spec: { ...whole, expiresAt: 'tomorrow' } }],
    ['spec.maxPassSeconds is a string', 'fleetrolebindings/x', { spec: { ...whole, maxPassSeconds: '900' } }],
    ['its value is not JSON', 'fleetrolebindings/x', Buffer.from('{')],
    [
      'metadata.annotations[clusterpass.dev/clusters]: ',
      'clusterrolebindings/x',
      { metadata: { name: 'x', annotations: { 'clusterpass.dev/clusters': 'env=dev' } } },
    ],
  ])('refuses it before anything is written: %s', async (problem, name, object) => {
    const folder = await mkdtemp(join(tmpdir(), 'clusterpass-import-'));
    const [from, to, archive] = ['from.db', 'to.db', 'archive'].map((file) => join(folder, file)) as [
      string,
      string,
      string,
    ];
    const store = await openSqliteStore({ file: from });
    const put = (key: string, value: Uint8Array) => store.write({ key, value, expect: { absent: true } });
    await put('/registry/fleetrolebindings/fine', Buffer.from(JSON.stringify({ metadata: {}, spec: whole })));
    await put(`/registry/${name}`, Buffer.isBuffer(object) ? object : Buffer.from(JSON.stringify(object)));
    await store.close();
    expect((await runStore('export', '--store', `sqlite:${from}`, '-f', archive)).code).toBe(0);
    const { code, stderr } = await runStore('import', '--store', `sqlite:${to}`, '-f', archive);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`/registry/${name}: ${problem}`)]);
    expect(stderr).not.toContain('fine');
    await expect(access(to)).rejects.toThrow('ENOENT');
    await rm(folder, { recursive: true, force: true });
  });
});
