import { chown, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { umoci } from '../../scripts/programs.ts';
import { fillIn, makeRelease } from '../../scripts/release.ts';
import { freePorts } from '../conformance/etcd-process.ts';
import { describeWith } from '../describe-with.ts';
import { everyCommandWasRun } from '../documents/support/every-command.ts';
import { TLS } from '../e2e/support/server.ts';
import { distrust, trust } from '../e2e/support/trust.ts';
import { checkArchives } from './archive-suite.ts';
import { missingDeclarations } from './declarations.ts';
import { checkImage } from './image-suite.ts';
import { MadeRelease, onPort, packageManifest, ROOT, run, USER } from './made-release.ts';
import { serve, TOUR } from './tour.ts';

describe('a manifest of a package manager', () => {
  const facts = (...made: string[]) => ({
    version: '0.2.0',
    downloads: 'https://example.com',
    checksumOf: (file: string) => (made.includes(file) ? 'c0ffee' : undefined),
  });

  it('is refused if its only file was not made', async () => {
    const template = await readFile(join(ROOT, 'deploy/homebrew/clusterpass.rb'), 'utf8');
    expect(fillIn(template, facts('clusterpass-0.2.0.tgz'))).toContain('sha256 "c0ffee"');
    expect(() => fillIn(template, facts())).toThrow('clusterpass-0.2.0.tgz was not made');
  });
});

describeWith(umoci, 'a release', () => {
  let made: MadeRelease;
  beforeAll(async () => {
    made = await MadeRelease.make();
    trust(made.folder, await readFile(TLS.caFile, 'utf8'));
  }, 600_000);
  afterAll(async () => {
    distrust(made.folder);
    await made.destroy();
  });

  it('is refused for another version than that of the package', () => {
    expect(() => makeRelease({ version: '9.9.9', output: made.folder, changelog: '' })).toThrow('npm version 9.9.9');
  });

  describe('the archives', () => checkArchives(() => made));
  describe('the image', () => checkImage(() => made));

  it('is served by the unit for systemd, from the archive', async () => {
    const unit = await readFile(join(made.output, 'clusterpass.service'), 'utf8');
    const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
    const machine = (text: string): string => text.replaceAll(/(?<![\w./])\/(?=(?:opt|etc|var)\/)/g, `${made.folder}/`);
    const data = join(made.folder, 'var/lib', setting('StateDirectory'));
    await mkdir(join(made.folder, 'etc/clusterpass'), { recursive: true });
    await mkdir(dirname(data), { recursive: true });
    await mkdir(data, { mode: Number.parseInt(setting('StateDirectoryMode'), 8) });
    const options = await readFile(join(await made.deployFolder(), 'systemd/clusterpass.yaml'), 'utf8');
    await writeFile(join(made.folder, 'etc/clusterpass/clusterpass.yaml'), machine(options));
    await copyFile(TLS.certFile, join(made.folder, 'etc/clusterpass/tls.crt'));
    await writeFile(join(made.folder, 'etc/clusterpass/tls.key'), await readFile(TLS.keyFile), { mode: 0o600 });
    const uid = process.getuid?.() === 0 ? USER : undefined;
    if (uid !== undefined)
      for (const path of [data, join(made.folder, 'etc/clusterpass/tls.key')]) await chown(path, uid, uid);
    const [port] = await freePorts(1);
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: data, ...onPort(port) };
    const args = ['-c', `umask ${setting('UMask')}; exec "$0" "$@"`, ...machine(setting('ExecStart')).split(' ')];
    const server = { file: '/bin/sh', args, ...(uid === undefined ? {} : { uid }) };
    await serve({ server, cwd: made.folder, env, url: `https://127.0.0.1:${port}`, data });
  });

  it('is published by the workflow, with every file', async () => {
    const { jobs } = parse(await readFile(join(ROOT, '.github/workflows/release.yml'), 'utf8')) as {
      jobs: { publish: { steps: { run?: string; 'working-directory'?: string }[] } };
    };
    const bin = await made.emptyFolder('publish');
    for (const name of ['npm', 'gh']) await writeFile(join(bin, name), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, GITHUB_REF_NAME: `v${made.version}` };
    const printed: string[] = [];
    for (const { run: script, 'working-directory': within = '' } of jobs.publish.steps) {
      if (script !== undefined)
        printed.push((await run('bash', ['-euc', script], { cwd: join(made.folder, within), env })).stdout.trim());
    }
    const files = (await readdir(made.output)).map((name) => `release/${name}`).sort();
    const checked = printed[0]?.split('\n').map((line) => line.replace(/^(.*): OK$/, 'release/$1'));
    expect([...(checked ?? []), 'release/SHA256SUMS'].sort()).toEqual(files);
    expect(printed.slice(1)).toEqual([
      // Without `./` npm would take the path for a repository of GitHub.
      `publish --provenance ./release/clusterpass-${made.version}.tgz`,
      `release create v${made.version} --verify-tag --notes-file release/RELEASE-NOTES.md ${files.join(' ')}`,
    ]);
  });

  describe('the npm package', () => {
    const MAX_BYTES = 3_000_000;
    let prefix: string;

    /** The settings of npm on this machine, in a home that is empty otherwise. */
    const npmEnv = (): NodeJS.ProcessEnv => ({
      ...process.env,
      PATH: [dirname(process.execPath), process.env.PATH].join(':'),
      HOME: join(made.folder, 'home'),
      npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? '', '.npm'),
      npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? '', '.npmrc'),
    });

    beforeAll(async () => {
      prefix = join(made.folder, 'prefix');
      const flags = ['--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
      await run('npm', ['install', ...flags, made.tarball], { cwd: made.folder, env: npmEnv() });
    });

    it('is small and holds the built program only', async () => {
      expect((await stat(made.tarball)).size).toBeLessThan(MAX_BYTES);
      const { stdout } = await run('tar', ['tzf', made.tarball]);
      const files = stdout.split('\n').map((path) => path.replace(/^package\//, ''));
      const foreign = /^(?:src|test|bench|scripts|docs)\/|\.(?:test|fixture)\.|(?<!\.d)\.ts$|\.map$/;
      expect(files.filter((path) => foreign.test(path))).toEqual([]);
      const expected = ['LICENSE', 'README.md', 'CHANGELOG.md', 'console/dist/index.html', 'dist/client/index.d.ts'];
      // Without them the launcher would start the whole program for every kubectl, and in every cluster.
      expected.push('dist/plugin/credential.cjs', 'dist/plugin/connector.cjs');
      for (const path of expected) expect(files).toContain(path);
    });

    it('is installed without packages for development', async () => {
      const { dependencies } = await packageManifest();
      const installed = await readdir(join(prefix, 'lib/node_modules/clusterpass/node_modules'));
      for (const name of Object.keys(dependencies)) expect(installed).toContain(name.split('/', 1)[0]);
      for (const name of ['typescript', 'vite', 'vitest', 'node']) expect(installed).not.toContain(name);
    });

    it('has the declarations of the client and of its imports only', async () => {
      const dist = join(prefix, 'lib/node_modules/clusterpass/dist');
      expect(missingDeclarations(dist)).toEqual([]);
      const declared = (await readdir(dist, { recursive: true })).filter((path) => path.endsWith('.d.ts'));
      expect([...new Set(declared.map((path) => path.split('/', 1)[0]))].sort()).toEqual(['api', 'client', 'lib']);
    });

    // The archive of this platform has the same program, and does the tour.
    it('gives commands that serve, list and issue', async () => {
      const folder = await made.emptyFolder('npm');
      const [port] = await freePorts(1);
      const url = `http://127.0.0.1:${port}`;
      const data = join(folder, 'data');
      const args = ['serve', '--demo', '--data-dir', data, '--listen', `127.0.0.1:${port}`];
      const env = { ...npmEnv(), HOME: folder };
      const server = { file: join(prefix, 'bin/clusterpass'), args };
      await serve({ server, cwd: folder, env, url, data }, async () => {
        const login = { CLUSTERPASS_SERVER: url, CLUSTERPASS_TOKEN_FILE: join(data, 'admin.token') };
        const plugin = join(prefix, 'bin/kubectl-clusterpass');
        const { stdout } = await run(plugin, ['get', 'clusters'], { env: { ...env, ...login } });
        expect(stdout).toContain('prod-eu-1');
      });
    });

    // The formula itself is Ruby, which the tests do not have: its steps are done here.
    it('is what the Homebrew formula installs', async () => {
      const formula = await readFile(join(made.output, 'clusterpass.rb'), 'utf8');
      const [, url = ''] = /^ {2}url "(.*)"$/m.exec(formula) ?? [];
      const [, sum] = /^ {2}sha256 "([0-9a-f]{64})"$/m.exec(formula) ?? [];
      expect(basename(url)).toBe(basename(made.tarball));
      expect((await run('sha256sum', [made.tarball])).stdout.split(' ', 1)).toEqual([sum]);
      expect(formula).not.toContain('{{');
      // `std_npm_args` packs the unpacked folder again, without scripts, and installs the result with --global.
      expect(formula).toContain('system "npm", "install", *std_npm_args\n');
      const unpacked = await made.emptyFolder('formula');
      await run('tar', ['-xzf', made.tarball, '--strip-components=1', '-C', unpacked]);
      const flags = ['pack', '--ignore-scripts', '--dry-run', '--json'];
      const { stdout } = await run('npm', flags, { cwd: unpacked, env: npmEnv(), maxBuffer: 64 * 1024 * 1024 });
      const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
      const { stdout: packed } = await run('tar', ['-tzf', made.tarball]);
      expect(files.map(({ path }) => `package/${path}`).sort()).toEqual(packed.trim().split('\n').sort());
      expect(formula).toContain('bin.install_symlink libexec.glob("bin/*")\n');
      expect((await readdir(join(prefix, 'bin'))).sort()).toEqual(['clusterpass', 'kubectl-clusterpass']);
      const said = await run(join(prefix, 'bin/clusterpass'), ['--version'], { env: npmEnv() });
      expect(said.stdout).toContain(made.version);
    });
  });

  everyCommandWasRun('README.md', [TOUR]);
});
