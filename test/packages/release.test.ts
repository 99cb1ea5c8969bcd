import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { installProgram } from '../../scripts/artifacts/program.mjs';
import { HOST, PLATFORMS } from '../../scripts/artifacts/standalone.mjs';
import { CONFIG, imageName, writeImage, writeLayer } from '../../scripts/image.mjs';
import { makeRelease, ReleaseError, sectionOf } from '../../scripts/release.mjs';
import { umoci } from '../../scripts/setup-umoci.mjs';
import { describeWith } from '../describe-with.ts';
import { takeTour } from './tour.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const USER = 65532;

interface Descriptor {
  readonly digest: string;
}

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

describe('the section of the changelog', () => {
  const changelog = '# Changelog\n\n## Unreleased\n\n- a\n\n## 0.2.0 (2026-12-01)\n\n- b\n\n## 0.1.0\n\n- c\n';

  it('is that of the version', () => {
    expect(sectionOf(changelog, '0.2.0')).toBe('- b\n');
    expect(sectionOf(changelog, '0.1.0')).toBe('- c\n');
  });

  it('must exist', () => {
    expect(() => sectionOf(changelog, '0.3.0')).toThrow(ReleaseError);
    expect(() => sectionOf(changelog, '0.2')).toThrow('no section "## 0.2"');
  });
});

describeWith(umoci, 'a release', () => {
  let folder: string;
  let output: string;
  let version: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-release-'));
    output = join(folder, 'release');
    version = (await manifest()).version;
    makeRelease({ version, output, platforms: [HOST], level: 1 });
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const tarball = (): string => join(output, `clusterpass-${version}.tgz`);
  const emptyFolder = (name: string): Promise<string> => mkdtemp(join(folder, `${name}-`));

  it('is refused for another version than that of the package', () => {
    expect(() => makeRelease({ version: '9.9.9', output: folder, platforms: [] })).toThrow('npm version 9.9.9');
  });

  it('has checksums of all its files', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: output });
    const checked = stdout
      .trim()
      .split('\n')
      .map((line) => line.replace(/: OK$/, ''));
    expect(checked.sort()).toEqual((await readdir(output)).filter((name) => name !== 'SHA256SUMS').sort());
  });

  it('has a krew manifest for every platform', async () => {
    const { spec } = parse(await readFile(join(output, 'krew-clusterpass.yaml'), 'utf8')) as KrewManifest;
    expect(spec.version).toBe(`v${version}`);
    const platforms = spec.platforms.map(({ selector: { matchLabels } }) => `${matchLabels.os}-${matchLabels.arch}`);
    expect(platforms.sort()).toEqual(Object.keys(PLATFORMS).sort());
    const sums = await readFile(join(output, 'SHA256SUMS'), 'utf8');
    const host = spec.platforms.find(({ uri }) => uri.endsWith(`-${HOST}.tar.gz`));
    expect(sums).toContain(`${host?.sha256}  clusterpass-${version}-${HOST}.tar.gz`);
  });

  it('fills in the Homebrew formula', async () => {
    const formula = await readFile(join(output, 'clusterpass.rb'), 'utf8');
    const sum = /sha256 "([0-9a-f]{64})"/.exec(formula)?.[1];
    expect(await readFile(join(output, 'SHA256SUMS'), 'utf8')).toContain(`${sum}  clusterpass-${version}.tgz`);
    expect(formula).not.toContain('{{');
  });

  it('has a plugin that serves, lists and issues where there is no Node, installed as krew does', async () => {
    const { spec } = parse(await readFile(join(output, 'krew-clusterpass.yaml'), 'utf8')) as KrewManifest;
    const store = join(folder, 'store');
    const bin = join(folder, 'bin');
    await mkdir(store);
    await mkdir(bin);
    await run('tar', ['-xzf', join(output, `clusterpass-${version}-${HOST}.tar.gz`), '-C', store]);
    await symlink(join(store, spec.platforms[0]?.bin ?? ''), join(bin, 'kubectl-clusterpass'));
    const clusterpass = { file: join(store, 'clusterpass/bin/clusterpass'), args: [] };
    const plugin = { file: join(bin, 'kubectl-clusterpass'), args: [] };
    // Only what a launcher in sh needs.
    await takeTour({
      folder: await emptyFolder('plugin-tour'),
      env: { PATH: await pathWithoutNode() },
      clusterpass,
      plugin,
    });
  });

  async function pathWithoutNode(): Promise<string> {
    const tools = join(folder, 'tools');
    await mkdir(tools);
    for (const name of ['dirname', 'readlink']) {
      const { stdout } = await run('which', [name]);
      await symlink(stdout.trim(), join(tools, name));
    }
    return tools;
  }

  describe('the npm package', () => {
    const MAX_BYTES = 3_000_000;
    let prefix: string;

    /** The settings of npm on this machine, in a home that is empty otherwise. */
    const npmEnv = (): NodeJS.ProcessEnv => ({
      ...process.env,
      PATH: [dirname(process.execPath), process.env.PATH].join(':'),
      HOME: join(folder, 'home'),
      npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? '', '.npm'),
      npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? '', '.npmrc'),
    });

    beforeAll(async () => {
      prefix = join(folder, 'prefix');
      const flags = ['--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
      await run('npm', ['install', ...flags, tarball()], { cwd: folder, env: npmEnv() });
    });

    it('is small and holds the built program only', async () => {
      expect((await stat(tarball())).size).toBeLessThan(MAX_BYTES);
      const { stdout } = await run('tar', ['tzf', tarball()]);
      const files = stdout.split('\n').map((path) => path.replace(/^package\//, ''));
      const foreign = /^(?:src|test|bench|scripts|docs)\/|\.(?:test|fixture)\.|(?<!\.d)\.ts$|\.map$/;
      expect(files.filter((path) => foreign.test(path))).toEqual([]);
      const expected = ['LICENSE', 'README.md', 'CHANGELOG.md', 'console/dist/index.html', 'dist/client/index.d.ts'];
      for (const path of expected) expect(files).toContain(path);
    });

    it('is installed without packages for development', async () => {
      const { dependencies } = await manifest();
      const installed = await readdir(join(prefix, 'lib/node_modules/clusterpass/node_modules'));
      for (const name of Object.keys(dependencies)) expect(installed).toContain(name.split('/', 1)[0]);
      for (const name of ['typescript', 'vite', 'vitest', 'node']) expect(installed).not.toContain(name);
    });

    it('gives commands that serve, list and issue', async () => {
      const command = (name: string) => ({ file: join(prefix, 'bin', name), args: [] });
      const commands = { clusterpass: command('clusterpass'), plugin: command('kubectl-clusterpass') };
      await takeTour({ folder: await emptyFolder('npm-tour'), env: npmEnv(), ...commands });
    });
  });

  describe('the image', () => {
    let layout: string;
    let digest: string;
    let root: string;

    beforeAll(async () => {
      layout = join(folder, 'layout');
      await mkdir(layout);
      await run('tar', ['-xf', join(output, `${imageName(version)}.oci.tar`), '-C', layout]);
      const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
      digest = index.manifests[0]?.digest ?? '';
      const { layers } = (await blob(digest)) as { layers: Descriptor[] };
      expect(layers).toHaveLength(1);
      root = join(folder, 'root');
      await mkdir(root);
      await run('tar', ['-xzf', fileOf(layers[0]?.digest ?? ''), '-C', root]);
    });

    const fileOf = (of: string): string => join(layout, 'blobs/sha256', of.slice('sha256:'.length));
    const blob = async (of: string): Promise<unknown> => JSON.parse(await readFile(fileOf(of), 'utf8'));

    describe('is the same when it is built again:', () => {
      it('the program, from the same lock file', async () => {
        const again = join(folder, 'program-again');
        installProgram(again, tarball());
        const program = join(root, 'opt/clusterpass');
        const { stdout } = await run('diff', ['-rq', '--no-dereference', '-x', 'sbom.cdx.json', again, program]);
        expect(stdout).toBe('');
      });

      it('the layer, from the same files', async () => {
        const manifest = (await blob(digest)) as { config: Descriptor };
        const { rootfs } = (await blob(manifest.config.digest)) as { rootfs: { diff_ids: string[] } };
        // It is added by writeLayer.
        const data = join(root, 'var/lib/clusterpass');
        await rename(data, join(folder, 'data'));
        const { stdout } = await run('sha256sum', [writeLayer(await emptyFolder('layer'), root)]);
        await rename(join(folder, 'data'), data);
        expect(rootfs.diff_ids).toEqual([`sha256:${stdout.split(' ', 1)[0]}`]);
      });

      it('the image, from the same layer', async () => {
        const small = await emptyFolder('small');
        const layer = writeLayer(await emptyFolder('layer'), small);
        const digests = ['first', 'second'].map((name) => writeImage({ layer, output: join(folder, name) }));
        expect(digests[1]).toBe(digests[0]);
      });
    });

    it('runs as a user without rights', async () => {
      const manifest = (await blob(digest)) as { config: Descriptor };
      const { config } = (await blob(manifest.config.digest)) as { config: Record<string, unknown> };
      expect(config).toMatchObject({ User: `${USER}:${USER}`, Entrypoint: CONFIG.entrypoint, Cmd: ['serve'] });
    });

    it('has Node, its libraries, certificates and the program, and no shell', async () => {
      expect((await readdir(root)).sort()).toEqual(
        ['etc', 'lib', 'lib64', 'opt', 'tmp', 'usr', 'var'].filter(
          (name) => process.arch === 'x64' || name !== 'lib64',
        ),
      );
      expect(await readdir(join(root, 'usr/bin'))).toEqual(['node']);
      expect(await readFile(join(root, 'etc/ssl/certs/ca-certificates.crt'), 'utf8')).toMatch(
        /^-----BEGIN CERTIFICATE/,
      );
      const data = await stat(join(root, 'var/lib/clusterpass'));
      expect([data.uid, data.mode & 0o777]).toEqual([process.getuid?.() === 0 ? USER : process.getuid?.(), 0o700]);
    });

    it('lists its components', async () => {
      const text = await readFile(join(root, 'opt/clusterpass/sbom.cdx.json'), 'utf8');
      // They would differ from build to build.
      expect(text).not.toMatch(/serialNumber|timestamp|\/tmp\//);
      const sbom = JSON.parse(text) as {
        components: { name: string; version: string; purl: string }[];
      };
      const names = sbom.components.map(({ name }) => name);
      const { dependencies } = await manifest();
      expect(names).toEqual(expect.arrayContaining(['node', 'libc6', 'ca-certificates']));
      const qualified = sbom.components.map(({ purl }) => decodeURIComponent(purl));
      for (const [name, version] of Object.entries(dependencies))
        expect(qualified).toContain(`pkg:npm/${name}@${version}`);
      for (const name of ['typescript', 'vite', 'vitest']) expect(names).not.toContain(name);
    });

    // Only root may change the root directory of a process.
    it.runIf(process.getuid?.() === 0)('serves, lists and issues, and writes to its data directory only', async () => {
      const before = await listing(root);
      const state = join(root, 'var/lib/clusterpass/state');
      await run('mkdir', ['-m', '0755', state]);
      await chown(state, USER, USER);
      await run('chmod', ['0755', join(root, 'var/lib/clusterpass')]);
      const clusterpass = { file: 'chroot', args: [`--userspec=${CONFIG.user}`, root, ...CONFIG.entrypoint] };
      const env = { ...Object.fromEntries(CONFIG.env.map((each) => each.split('=', 2))), PATH: process.env.PATH ?? '' };
      await takeTour({ folder: state, root, env, clusterpass });
      expect(await listing(root)).toEqual(before);
    });
  });
});

async function manifest(): Promise<{ version: string; dependencies: Record<string, string> }> {
  return JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
}

/** Every file outside of the data directory, with its size and time. */
async function listing(root: string): Promise<string[]> {
  const found = await run('find', ['.', '-path', './var/lib/clusterpass', '-prune', '-o', '-printf', '%p %s %T@\n'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return found.stdout.split('\n').sort();
}
