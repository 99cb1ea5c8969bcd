import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { PROGRAM } from '../program.ts';

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
  afterAll(() => rm(folder, { recursive: true, force: true }));

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
