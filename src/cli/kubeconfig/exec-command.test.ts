import { chmod, mkdir, mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { execCommand, launchersOf } from './exec-command.ts';

let home: string;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'clusterpass-exec-')));
});

async function program(path: string, mode = 0o755): Promise<string> {
  const file = join(home, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '');
  await chmod(file, mode);
  return file;
}

async function linked(folder: string, name: string, target: string): Promise<string> {
  await mkdir(join(home, folder), { recursive: true });
  await symlink(target, join(home, folder, name));
  return join(home, folder);
}

describe('the command for kubectl', () => {
  describe('of an npm package', () => {
    let launcher: string;
    beforeEach(async () => {
      launcher = await program('package/bin/clusterpass.mjs');
      await program('package/bin/kubectl-clusterpass.mjs');
    });

    /** npm installs a command as a link to the launcher. */
    const installed = (folder: string): Promise<string> => linked(folder, 'clusterpass', launcher);

    const command = async (...path: string[]): Promise<string> =>
      execCommand({ env: { PATH: path.join(':') } }, await launchersOf(join(home, 'package'), process.execPath));

    it('is the plain name if the PATH leads to this program', async () => {
      expect(await command('/nonexistent', await installed('usr/bin'))).toBe('clusterpass');
    });

    it('is the launcher if the name is not on the PATH, or only in npm’s folder or a relative one', async () => {
      expect(await command('/nonexistent')).toBe(launcher);
      expect(await command(await installed('.npm/_npx/1/node_modules/.bin'))).toBe(launcher);
      expect(await command('', '.', 'bin')).toBe(launcher);
      expect(await execCommand({ env: {} }, [launcher])).toBe(launcher);
    });

    it('is the launcher if the name is another program', async () => {
      const other = join(await program('other/clusterpass'), '..');
      const folder = await installed('usr/bin');
      expect(await command(other, folder)).toBe(launcher);
      expect(await command(folder, other)).toBe('clusterpass');
    });

    it('is never a launcher of an archive that is two folders above', async () => {
      await program('bin/clusterpass');
      await program('lib/node');
      const launchers = await launchersOf(join(home, 'lib/clusterpass'), process.execPath);
      expect(launchers).toEqual(
        ['clusterpass.mjs', 'kubectl-clusterpass.mjs'].map((name) => join(home, 'lib/clusterpass/bin', name)),
      );
    });
  });

  describe('of an archive with Node', () => {
    let launcher: string;
    let plugin: string;
    let node: string;
    beforeEach(async () => {
      launcher = await program('opt/clusterpass/bin/clusterpass');
      plugin = await program('opt/clusterpass/bin/kubectl-clusterpass');
      node = await program('opt/clusterpass/lib/node');
      await program('opt/clusterpass/lib/clusterpass/bin/clusterpass.mjs');
    });

    const command = async (...path: string[]): Promise<string> =>
      execCommand(
        { env: { PATH: path.join(':') } },
        await launchersOf(join(home, 'opt/clusterpass/lib/clusterpass'), node),
      );

    it('is the launcher that finds Node beside itself', async () => {
      expect(await command('/nonexistent')).toBe(launcher);
    });

    it('is the plain name if the PATH leads to it, by a link or not', async () => {
      expect(await command(await linked('usr/bin', 'clusterpass', launcher))).toBe('clusterpass');
      expect(await command(join(home, 'opt/clusterpass/bin'))).toBe('clusterpass');
    });

    it('is the name of the plugin where krew has installed it, also beside another clusterpass', async () => {
      const krew = await linked('.krew/bin', 'kubectl-clusterpass', plugin);
      expect(await command(krew)).toBe('kubectl-clusterpass');
      expect(await command(join(await program('other/clusterpass'), '..'), krew)).toBe('kubectl-clusterpass');
    });
  });
});
