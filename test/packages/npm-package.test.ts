import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeTour } from './tour.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_BYTES = 3_000_000;
const run = promisify(execFile);

let folder: string;
let prefix: string;
let tarball: string;
let files: string[];

/** The settings of npm on this machine, in a home that is empty otherwise. */
const env = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: [dirname(process.execPath), process.env.PATH].join(':'),
  HOME: join(folder, 'home'),
  npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? '', '.npm'),
  npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? '', '.npmrc'),
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-package-'));
  const packed = await run('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], {
    cwd: ROOT,
    env: env(),
  });
  tarball = join(folder, packed.stdout.trim().split('\n').at(-1) ?? '');
  files = (await run('tar', ['tzf', tarball])).stdout.split('\n').map((path) => path.replace(/^package\//, ''));
  prefix = join(folder, 'prefix');
  const flags = ['--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...flags, tarball], { cwd: folder, env: env() });
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the npm package', () => {
  it('is small and holds the built program only', async () => {
    expect((await stat(tarball)).size).toBeLessThan(MAX_BYTES);
    expect(
      files.filter((path) => /^(?:src|test|bench|scripts|docs)\/|\.(?:test|fixture)\.|(?<!\.d)\.ts$|\.map$/.test(path)),
    ).toEqual([]);
    for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'console/dist/index.html', 'dist/client/index.d.ts']) {
      expect(files).toContain(path);
    }
  });

  it('is installed without packages for development', async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    const installed = await readdir(join(prefix, 'lib/node_modules/clusterpass/node_modules'));
    for (const name of Object.keys(manifest.dependencies)) expect(installed).toContain(name.split('/', 1)[0]);
    for (const name of ['typescript', 'vite', 'vitest', 'node']) expect(installed).not.toContain(name);
  });

  it('gives commands that serve, list and issue', async () => {
    const command = (name: string) => ({ file: join(prefix, 'bin', name), args: [] });
    await takeTour({ folder, env: env(), clusterpass: command('clusterpass'), plugin: command('kubectl-clusterpass') });
  });
});
