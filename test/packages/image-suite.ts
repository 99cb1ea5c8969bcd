import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { installProgram } from '../../scripts/artifacts/program.ts';
import { CONFIG, imageName, writeImage, writeLayer } from '../../scripts/image.ts';
import { go } from '../../scripts/programs.ts';
import { describeWithEtcd, freePorts } from '../conformance/etcd-process.ts';
import { describeWith } from '../describe-with.ts';
import { startEtcdWithTls } from '../documents/support/etcd-with-tls.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { TLS } from '../e2e/support/server.ts';
import { kustomize, type Manifest } from '../helm/manifests.ts';
import { renderChart } from '../helm/render-chart.ts';
import { type MadeRelease, onPort, packageManifest, run, USER } from './made-release.ts';
import { type Files, mountVolumes, podOf } from './pod.ts';
import { type Command, serve } from './tour.ts';

interface Descriptor {
  readonly digest: string;
}

/** The image, and the pods of the deploy folder that run it. */
export function checkImage(made: () => MadeRelease): void {
  let layout: string;
  let digest: string;
  let root: string;

  beforeAll(async () => {
    layout = join(made().folder, 'layout');
    await mkdir(layout);
    await run('tar', ['-xf', join(made().output, `${imageName(made().version)}.oci.tar`), '-C', layout]);
    const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
    digest = index.manifests[0]?.digest ?? '';
    const { layers } = (await blob(digest)) as { layers: Descriptor[] };
    expect(layers).toHaveLength(1);
    root = join(made().folder, 'root');
    await mkdir(root);
    await run('tar', ['-xzf', fileOf(layers[0]?.digest ?? ''), '-C', root]);
  });

  const fileOf = (of: string): string => join(layout, 'blobs/sha256', of.slice('sha256:'.length));
  const blob = async (of: string): Promise<unknown> => JSON.parse(await readFile(fileOf(of), 'utf8'));

  describe('is the same when it is built again:', () => {
    it('the program, from the same lock file', async () => {
      const again = join(made().folder, 'program-again');
      installProgram(again, made().tarball);
      const program = join(root, 'opt/clusterpass');
      const { stdout } = await run('diff', ['-rq', '--no-dereference', '-x', 'sbom.cdx.json', again, program]);
      expect(stdout).toBe('');
    });

    it('the layer, from the same files', async () => {
      const manifest = (await blob(digest)) as { config: Descriptor };
      const { rootfs } = (await blob(manifest.config.digest)) as { rootfs: { diff_ids: string[] } };
      // It is added by writeLayer.
      const data = join(root, 'var/lib/clusterpass');
      await rename(data, join(made().folder, 'data'));
      const { stdout } = await run('sha256sum', [writeLayer(await made().emptyFolder('layer'), root)]);
      await rename(join(made().folder, 'data'), data);
      expect(rootfs.diff_ids).toEqual([`sha256:${stdout.split(' ', 1)[0]}`]);
    });

    it('the image, from the same layer', async () => {
      const small = await made().emptyFolder('small');
      const layer = writeLayer(await made().emptyFolder('layer'), small);
      const digests = ['first', 'second'].map((name) => writeImage({ layer, output: join(made().folder, name) }));
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
      ['etc', 'lib', 'lib64', 'opt', 'tmp', 'usr', 'var'].filter((name) => process.arch === 'x64' || name !== 'lib64'),
    );
    expect(await readdir(join(root, 'usr/bin'))).toEqual(['node']);
    expect(await readFile(join(root, 'etc/ssl/certs/ca-certificates.crt'), 'utf8')).toMatch(/^-----BEGIN CERTIFICATE/);
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
    const { dependencies } = await packageManifest();
    expect(names).toEqual(expect.arrayContaining(['node', 'libc6', 'ca-certificates']));
    const qualified = sbom.components.map(({ purl }) => decodeURIComponent(purl));
    for (const [name, version] of Object.entries(dependencies))
      expect(qualified).toContain(`pkg:npm/${name}@${version}`);
    for (const name of ['typescript', 'vite', 'vitest']) expect(names).not.toContain(name);
  });

  // Only root may change the root directory of a process.
  describe.runIf(process.getuid?.() === 0)('in a process with its root', () => {
    const DATA = '/var/lib/clusterpass';
    const imageEnv = Object.fromEntries(CONFIG.env.map((each) => each.split('=', 2)));
    /** Starts a command as a container runtime does: with the root, the user and the working directory. */
    const inRoot = (cwd: string, command: readonly string[], user: number): Command => ({
      file: '/usr/bin/unshare',
      args: [`--root=${root}`, `--wd=${cwd}`, `--setgid=${user}`, `--setuid=${user}`, ...command],
    });

    /**
     * Serves as the pod of a Deployment does, which writes to its data directory only. The options of `settings` are
     * for this machine. The commands for people were run from the archive, which has the same program.
     */
    async function servePod(manifests: readonly Manifest[], more: Files, settings = {}): Promise<void> {
      const pod = podOf(manifests);
      const [container] = pod.containers;
      const text = async (path: string): Promise<string> => readFile(path, 'utf8');
      const keys = {
        'encryption.key': randomBytes(32).toString('base64'),
        'admin.token': randomBytes(32).toString('hex'),
      };
      const files: Files = {
        ...Object.fromEntries(
          manifests
            .filter(({ kind }) => kind === 'ConfigMap')
            .map(({ metadata, data }) => [`ConfigMap ${metadata.name}`, data as Record<string, string>]),
        ),
        'Secret clusterpass-tls': { 'tls.crt': await text(TLS.certFile), 'tls.key': await text(TLS.keyFile) },
        'Secret clusterpass-keys': keys,
        ...more,
      };
      mountVolumes(root, pod, files);
      const before = await listing(root);
      const [port] = await freePorts(1);
      const env = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));
      const command = [...(container.command ?? CONFIG.entrypoint), ...container.args];
      const { path, scheme } = container.readinessProbe.httpGet;
      const url = `${scheme.toLowerCase()}://127.0.0.1:${port}`;
      const served = {
        server: inRoot(CONFIG.workingdir, command, pod.securityContext.runAsUser),
        cwd: made().folder,
        env: { ...imageEnv, ...env, ...onPort(port), ...settings },
        url,
        data: join(root, DATA),
      };
      await serve(served, async () => expect((await fetch(`${url}${path}`)).status).toBe(200));
      expect(await listing(root)).toEqual(before);
    }

    describeWithKubectl('the pod of kustomize', () => {
      it('serves, lists and issues on SQLite', async () => {
        await servePod(kustomize(join(await made().deployFolder(), 'kubernetes/base')), {});
      });
    });

    describeWith(go, 'the pod of the Helm chart', () => {
      describeWithEtcd('with replicas', () => {
        it('serves, lists and issues on etcd', async () => {
          // Its first use builds the renderer, which takes a minute.
          const etcd = await startEtcdWithTls();
          try {
            const chart = join(await made().deployFolder(), 'helm/clusterpass');
            const values = [await readFile(join(chart, 'ci/replicas-values.yaml'), 'utf8')];
            const client = await made().emptyFolder('etcd-client');
            etcd.writeClientFiles(client);
            const [ca = '', cert = '', key = ''] = await Promise.all(
              ['ca.crt', 'client.crt', 'client.key'].map((name) => readFile(join(client, `etcd-${name}`), 'utf8')),
            );
            const secret = { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key };
            const store = `etcd://${etcd.endpoints.join(',')}/clusterpass`;
            const manifests = renderChart({ chart, values });
            await servePod(manifests, { 'Secret clusterpass-etcd': secret }, { CLUSTERPASS_STORE: store });
          } finally {
            await etcd.destroy();
          }
        }, 600_000);
      });
    });
  });
}

/** Every file outside of the data directory, with its size and time. */
async function listing(root: string): Promise<string[]> {
  const found = await run('find', ['.', '-path', './var/lib/clusterpass', '-prune', '-o', '-printf', '%p %s %T@\n'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return found.stdout.split('\n').sort();
}
