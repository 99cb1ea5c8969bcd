import { execFile } from 'node:child_process';
import { chown, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildImage, CONFIG, pack } from '../../scripts/image.mjs';
import { UMOCI, umoci } from '../../scripts/setup-umoci.mjs';
import { describeWith } from '../describe-with.ts';
import { takeTour } from './tour.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const USER = 65532;

interface Descriptor {
  readonly digest: string;
}

describeWith(umoci, 'the image', () => {
  let folder: string;
  let layout: string;
  let digest: string;
  let tarball: string;
  let root: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-image-test-'));
    tarball = pack(folder);
    layout = join(folder, 'layout');
    digest = buildImage({ tarball, output: layout });
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const rootless = process.getuid?.() === 0 ? [] : ['--rootless'];
    await run(UMOCI, ['unpack', ...rootless, '--image', `${layout}:${version}`, join(folder, 'bundle')]);
    root = join(folder, 'bundle/rootfs');
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const blob = async (of: string): Promise<unknown> =>
    JSON.parse(await readFile(join(layout, 'blobs/sha256', of.slice('sha256:'.length)), 'utf8'));

  it('has the same digest when it is built again', () => {
    expect(buildImage({ tarball, output: join(folder, 'again') })).toBe(digest);
  }, 600_000);

  it('runs as a user without rights', async () => {
    const manifest = (await blob(digest)) as { config: Descriptor };
    const { config } = (await blob(manifest.config.digest)) as { config: Record<string, unknown> };
    expect(config).toMatchObject({ User: `${USER}:${USER}`, Entrypoint: CONFIG.entrypoint, Cmd: ['serve'] });
  });

  it('has Node, its libraries, certificates and the program, and no shell', async () => {
    expect((await readdir(root)).sort()).toEqual(
      ['etc', 'lib', 'lib64', 'opt', 'tmp', 'usr', 'var'].filter((name) => process.arch === 'x64' || name !== 'lib64'),
    );
    expect(await readdir(join(root, 'usr/bin'))).toEqual(['node']);
    expect(await readFile(join(root, 'etc/ssl/certs/ca-certificates.crt'), 'utf8')).toMatch(/^-----BEGIN CERTIFICATE/);
    const data = await stat(join(root, 'var/lib/clusterpass'));
    expect([data.uid, data.mode & 0o777]).toEqual([process.getuid?.() === 0 ? USER : process.getuid?.(), 0o700]);
  });

  it('lists its components', async () => {
    const sbom = JSON.parse(await readFile(join(root, 'opt/clusterpass/sbom.cdx.json'), 'utf8')) as {
      components: { name: string; version: string; purl: string }[];
    };
    const names = sbom.components.map(({ name }) => name);
    const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
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

/** Every file outside of the data directory, with its size and time. */
async function listing(root: string): Promise<string[]> {
  const found = await run('find', ['.', '-path', './var/lib/clusterpass', '-prune', '-o', '-printf', '%p %s %T@\n'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return found.stdout.split('\n').sort();
}
