import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execCommand } from './exec-command.ts';

let home: string;
let launcher: string;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'clusterpass-exec-')));
  launcher = await program('package/bin/clusterpass.mjs');
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function program(path: string, mode = 0o755): Promise<string> {
  const file = join(home, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '');
  await chmod(file, mode);
  return file;
}

/** npm installs a command as a link to the launcher. */
async function installed(folder: string): Promise<string> {
  await mkdir(join(home, folder), { recursive: true });
  await symlink(launcher, join(home, folder, 'clusterpass'));
  return join(home, folder);
}

const command = (...path: string[]): Promise<string> => execCommand({ env: { PATH: path.join(':') } }, launcher);

describe('the command for kubectl', () => {
  it('is the plain name if the PATH leads to this program', async () => {
    expect(await command('/nonexistent', await installed('usr/bin'))).toBe('clusterpass');
  });

  it('is the launcher if the name is not on the PATH, or only in npm’s folder or a relative one', async () => {
    expect(await command('/nonexistent')).toBe(launcher);
    expect(await command(await installed('.npm/_npx/1/node_modules/.bin'))).toBe(launcher);
    expect(await command('', '.', 'bin')).toBe(launcher);
    expect(await execCommand({ env: {} }, launcher)).toBe(launcher);
  });

  it('is the launcher if the name is another program', async () => {
    const other = join(await program('other/clusterpass'), '..');
    const folder = await installed('usr/bin');
    expect(await command(other, folder)).toBe(launcher);
    expect(await command(folder, other)).toBe('clusterpass');
  });

  it('ignores files that are not executable', async () => {
    const other = join(await program('other/clusterpass', 0o644), '..');
    expect(await command(other, await installed('usr/bin'))).toBe('clusterpass');
  });
});
