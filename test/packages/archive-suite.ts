import { mkdir, readFile, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { HOST, PLATFORMS } from '../../scripts/artifacts/standalone.ts';
import { type MadeRelease, run } from './made-release.ts';
import { takeTour } from './tour.ts';

interface KrewManifest {
  readonly spec: {
    readonly version: string;
    readonly platforms: readonly {
      readonly selector: { readonly matchLabels: { readonly os: string; readonly arch: string } };
      readonly uri: string;
      readonly sha256: string;
      readonly bin: string;
    }[];
  };
}

/** The archives with Node, and the manifest by which krew installs them. */
export function checkArchives(made: () => MadeRelease): void {
  let krew: KrewManifest['spec'];
  let sums: string;
  /** Paths in the archives with their modes. */
  const contents = new Map<string, ReadonlyMap<string, string>>();
  beforeAll(async () => {
    const { output } = made();
    krew = (parse(await readFile(join(output, 'krew-clusterpass.yaml'), 'utf8')) as KrewManifest).spec;
    sums = await readFile(join(output, 'SHA256SUMS'), 'utf8');
    for (const platform of Object.keys(PLATFORMS)) {
      const rows = await made().listingOf(platform);
      const files = rows.map((row) => row.split(/\s+/)).map(([mode = '', , , , , path = '']) => [path, mode] as const);
      contents.set(platform, new Map(files));
    }
  });

  describe.each(Object.keys(PLATFORMS))('for %s', (platform) => {
    it('has the commands, Node and a program that is the same on every platform', () => {
      const files = contents.get(platform);
      for (const name of ['bin/clusterpass', 'bin/kubectl-clusterpass', 'lib/node'])
        expect([name, files?.get(`clusterpass/${name}`)]).toEqual([name, '-rwxr-xr-x']);
      const paths = [...(files?.keys() ?? [])];
      expect(paths).toEqual([...(contents.get(HOST)?.keys() ?? [])]);
      // A compiled module would be for one platform.
      expect(paths.filter((path) => path.endsWith('.node'))).toEqual([]);
    });

    it('has the address and the hash of the krew manifest', () => {
      expect(krew.version).toBe(`v${made().version}`);
      const entry = krew.platforms.find(({ selector: { matchLabels: on } }) => `${on.os}-${on.arch}` === platform);
      const name = basename(made().archiveOf(platform));
      expect(entry?.uri).toMatch(new RegExp(`^https://.*/download/${krew.version}/${RegExp.escape(name)}$`));
      expect(sums).toContain(`${entry?.sha256}  ${name}\n`);
      expect(contents.get(platform)?.get(entry?.bin ?? '')).toBe('-rwxr-xr-x');
    });
  });

  it('have no other platform in the krew manifest', () => {
    expect(krew.platforms).toHaveLength(Object.keys(PLATFORMS).length);
  });

  it('do the tour where there is no Node, installed as krew does', async () => {
    const { folder } = made();
    const bin = await made().emptyFolder('bin');
    const { bin: path = '' } = krew.platforms.find(({ uri }) => uri.endsWith(`-${HOST}.tar.gz`)) ?? {};
    await symlink(join(folder, 'opt', path), join(bin, 'kubectl-clusterpass'));
    await takeTour({
      folder: await made().emptyFolder('plugin-tour'),
      env: { PATH: `${bin}:${await pathWithoutNode(folder)}` },
      clusterpass: { file: join(folder, 'opt/clusterpass/bin/clusterpass'), args: [] },
      // By its name: krew installs every version in another folder.
      plugin: { file: join(bin, 'kubectl-clusterpass'), args: [], command: 'kubectl-clusterpass' },
    });
  });
}

/** Only the programs that a launcher in sh needs. */
async function pathWithoutNode(folder: string): Promise<string> {
  const tools = join(folder, 'tools');
  await mkdir(tools);
  for (const name of ['dirname', 'readlink']) {
    const { stdout } = await run('which', [name]);
    await symlink(stdout.trim(), join(tools, name));
  }
  return tools;
}
