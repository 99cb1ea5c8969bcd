import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { go } from '../../scripts/programs.ts';
import { freePorts } from '../conformance/etcd-process.ts';
import { describeWith } from '../describe-with.ts';
import type { Manifest } from '../helm/manifests.ts';
import { buildRenderer, chartValues, renderChart } from '../helm/render-chart.ts';
import { LAUNCHER } from '../program.ts';
import { TLS, tokenOf } from './support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models in test/setup/
type Any = any;

const podOf = (manifests: readonly Manifest[], kind: string): Any =>
  (manifests.find((manifest) => manifest.kind === kind) as Any).spec.template.spec;

const clusterOf = (name: string): string =>
  `apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata:\n  name: ${name}\nspec: {}\n`;

/** As root, files have the owner and the mode that the kubelet gives them (`fsGroup`). */
const GROUP = process.getuid?.() === 0 ? 65532 : undefined;

/** Content of the objects that a pod mounts, by kind and name. */
type Contents = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Fills a folder as the kubelet does: files in a folder with a new name, and links that lead there through `..data`.
 */
function project(mountPath: string, sources: Any[], contents: Contents): void {
  const version = mkdtempSync(`${mountPath}/..version-`);
  chmodSync(version, 0o755);
  const names = new Set<string>();
  for (const source of sources) {
    const [[kind, { name, items }]] = Object.entries<Any>(source) as [[string, Any]];
    for (const { key, path } of items) {
      const content = contents[`${kind} ${name}`]?.[key];
      expect(content, `${kind} ${name}: ${key}`).toBeDefined();
      mkdirSync(dirname(join(version, path)), { recursive: true });
      writeFileSync(join(version, path), content ?? '', { mode: GROUP === undefined ? 0o600 : 0o440 });
      if (GROUP !== undefined) chownSync(join(version, path), 0, GROUP);
      names.add(path.split('/')[0]);
    }
  }
  symlinkSync(version, join(mountPath, '..data_tmp'));
  renameSync(join(mountPath, '..data_tmp'), join(mountPath, '..data'));
  for (const name of names) {
    if (!existsSync(join(mountPath, name))) symlinkSync(`..data/${name}`, join(mountPath, name));
  }
}

const call = (port: number, path: string, token?: string): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    get({ port, path, host: '127.0.0.1', ca: readFileSync(TLS.caFile), headers }, async (answer) => {
      let text = '';
      for await (const part of answer.setEncoding('utf8')) text += part;
      resolve({ code: answer.statusCode ?? 0, text });
    }).on('error', (error) => resolve({ code: 0, text: error.message }));
  });

describeWith(go, 'the pod of the Helm chart', () => {
  let folder: string;
  beforeAll(() => {
    buildRenderer();
    folder = mkdtempSync(join(tmpdir(), 'clusterpass-pod-'));
  }, 600_000);

  it('starts on its projected volume, responds to its probes, and follows changed manifests without a restart', async () => {
    const values = [
      chartValues('default'),
      'tokenAuth: { secretName: static }',
      'credentials: [{ namespace: fleet, name: alpha, secretName: alpha, keys: [token] }]',
      'authenticationConfig: { apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, jwt: [] }',
      'config: { log-level: warn, probe-interval: 0 }',
    ];
    const manifests = (...clusters: string[]): string =>
      `manifests: { fleet.yaml: ${JSON.stringify(clusters.map(clusterOf).join('---\n'))} }`;
    const secrets: Contents = {
      'secret clusterpass-tls': {
        'tls.crt': readFileSync(TLS.certFile, 'utf8'),
        'tls.key': readFileSync(TLS.keyFile, 'utf8'),
      },
      'secret clusterpass-keys': { 'encryption.key': Buffer.alloc(32, 7).toString('base64') },
      'secret static': { 'tokens.csv': `${tokenOf('ann')},ann,1,"system:masters"\n` },
      'secret alpha': { token: 'abc' },
    };
    const etc = join(folder, 'etc/clusterpass');
    const data = join(folder, 'var/lib/clusterpass');
    mkdirSync(etc, { recursive: true });
    mkdirSync(data, { recursive: true, mode: 0o700 });
    /** Renders the chart and mounts its volumes. Paths of the options are moved into the folder. */
    const mount = (text: string): Any => {
      const rendered = renderChart({ values: [...values, text] });
      const configMaps = rendered
        .filter(({ kind }) => kind === 'ConfigMap')
        .map(({ metadata, data: content }) => [
          `configMap ${metadata.name}`,
          Object.fromEntries(
            Object.entries(content as Record<string, string>).map(([key, file]) => [
              key,
              file.replaceAll(/(?<=: )\/(?=etc|var)/g, `${folder}/`),
            ]),
          ),
        ]);
      const pod = podOf(rendered, 'Deployment');
      const volume = pod.volumes.find(({ name }: { name: string }) => name === 'config');
      project(etc, volume.projected.sources, { ...secrets, ...Object.fromEntries(configMaps) });
      return pod.containers[0];
    };

    const { args, readinessProbe, livenessProbe } = mount(manifests('one'));
    const [port = 0] = await freePorts(1);
    const moved = args.map((arg: string) => arg.replace(/^\/etc/, `${folder}/etc`));
    const child = spawn(process.execPath, [LAUNCHER, ...moved, '--listen', `127.0.0.1:${port}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(GROUP === undefined ? {} : { gid: GROUP }),
    });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const names = async (): Promise<string[]> => {
      const { text } = await call(port, '/auth/v1/clusters', tokenOf('ann'));
      return (JSON.parse(text) as { items: Manifest[] }).items.map(({ metadata }) => metadata.name);
    };
    try {
      const readiness = async () => await call(port, `${readinessProbe.httpGet.path}?verbose`);
      await expect.poll(async () => ({ ...(await readiness()), log })).toMatchObject({ code: 200 });
      expect((await call(port, livenessProbe.httpGet.path)).code).toBe(200);
      await expect.poll(names).toEqual(['one']);
      mount(manifests('one', 'two'));
      await expect.poll(names).toEqual(['one', 'two']);
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    expect(child.exitCode, log).toBe(0);
  });
});
