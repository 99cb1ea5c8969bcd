import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CONFIG } from '../../scripts/image.ts';
import { go } from '../../scripts/programs.ts';
import { loadServeOptions } from '../../src/config/load-options.ts';
import { describeWith } from '../describe-with.ts';
import { misuseOf } from '../documents/support/connect-pages.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { DEPLOY, type Json, kustomize, type Manifest, misfitsOf, parseManifests } from '../helm/manifests.ts';
import { buildRenderer, chartValues, renderChart } from '../helm/render-chart.ts';

const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');

/** A machine that has the files that the options name. */
const root = mkdtempSync(join(tmpdir(), 'clusterpass-deploy-'));

/** The options that the program reads from a file, with /etc and /var moved into a folder. */
function optionsOf(text: string) {
  const moved = text.replaceAll(/(?<=: )\/(?=etc|var)/g, `${root}/`);
  for (const [path] of moved.matchAll(/(?<=: )\/.*$/gm)) {
    mkdirSync(dirname(path), { recursive: true });
    if (path.includes('/etc/')) writeFileSync(path, '');
  }
  const config = join(root, 'clusterpass.yaml');
  writeFileSync(config, moved);
  return loadServeOptions({ flags: { config }, env: {}, cwd: root }).options;
}

/** The path of each file of a projected volume in the container. */
// biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models by the first test below
function projectedFiles(pod: any): string[] {
  const [{ volumeMounts }] = pod.containers;
  return volumeMounts.flatMap(({ name, mountPath }: { name: string; mountPath: string }) => {
    const volume = pod.volumes.find((one: { name: string }) => one.name === name);
    return (volume.projected?.sources ?? []).flatMap((source: Record<string, { items: { path: string }[] }>) =>
      Object.values(source).flatMap(({ items }) => items.map(({ path }) => `${mountPath}/${path}`)),
    );
  });
}

/** 256Mi, 5Gi */
const mebibytes = (quantity: string): number => Number.parseInt(quantity, 10) * (quantity.endsWith('Gi') ? 1024 : 1);

/** The requirements of every way to install it. */
function checkInstallation(engine: 'sqlite' | 'etcd', load: () => Manifest[]): void {
  let manifests: Manifest[];
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const the = (kind: string): any => manifests.find((manifest) => manifest.kind === kind);
  const pod = () => the('Deployment').spec.template.spec;
  const optionsText = (): string => the('ConfigMap').data['clusterpass.yaml'];
  beforeAll(() => {
    manifests = load();
  });

  it('have only fields that Kubernetes knows, of the right types', () => {
    expect(manifests.length).toBeGreaterThan(5);
    expect(manifests.flatMap(misfitsOf)).toEqual([]);
  });

  it('keep to the restricted Pod Security Standard, with a root that cannot be written', () => {
    expect(pod().securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod().automountServiceAccountToken).toBe(false);
    for (const { securityContext } of pod().containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('mount every file that the options name, and no volume that does not exist', () => {
    const [{ args, volumeMounts }] = pod().containers;
    const files = projectedFiles(pod());
    expect(new Set(files).size).toBe(files.length);
    const paths = Object.values(parse(optionsText()) as Json).filter((value) => String(value).startsWith('/'));
    for (const path of [...paths, args.at(-1)].map(String)) {
      if (path.startsWith('/etc/')) expect(files.filter((file) => `${file}/`.startsWith(`${path}/`))).not.toEqual([]);
      else expect(volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)).toContain(path);
    }
    const volumes = pod().volumes.map(({ name }: { name: string }) => name);
    expect(volumeMounts.map(({ name }: { name: string }) => name).toSorted()).toEqual(volumes.toSorted());
  });

  it('let the group of the pod read secrets, and no other user', () => {
    for (const { secret, projected } of pod().volumes) {
      const mode = (secret ?? projected)?.defaultMode;
      if (mode !== undefined) expect(mode).toBe(0o440);
      else expect(secret ?? projected).toBeUndefined();
    }
    expect(pod().securityContext.fsGroup).toBe(pod().securityContext.runAsGroup);
  });

  it('have options that the program accepts, and probe the port that it serves', () => {
    const options = optionsOf(optionsText());
    expect(options.store.engine).toBe(engine);
    expect(options.tls).toBeDefined();
    const [{ ports, startupProbe, livenessProbe, readinessProbe }] = pod().containers;
    expect(ports).toEqual([{ name: 'https', containerPort: options.listen.port }]);
    expect(startupProbe.httpGet).toEqual({ path: '/livez', port: 'https', scheme: 'HTTPS' });
    expect(livenessProbe.httpGet).toEqual(startupProbe.httpGet);
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'https', scheme: 'HTTPS' });
    expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBe(120);
  });

  it('have room for the audit logs', () => {
    const { audit, securityAudit, dataDir } = optionsOf(optionsText());
    expect([audit, securityAudit].every(({ path }) => path.startsWith(dataDir))).toBe(true);
    const data = pod().volumes.find(({ name }: { name: string }) => name === 'data');
    const size = data.emptyDir?.sizeLimit ?? the('PersistentVolumeClaim').spec.resources.requests.storage;
    // The log of issued tokens is kept for ever where the volume outlives the pod.
    const limited = engine === 'etcd' ? [audit, securityAudit] : [audit];
    for (const { maxBackups } of limited) expect(maxBackups).toBeGreaterThan(0);
    const bytes = limited.reduce((sum, { maxBackups, maxBytes }) => sum + (maxBackups + 1) * maxBytes, 0);
    expect(bytes / 1024 / 1024).toBeLessThan(mebibytes(size) * 0.8);
  });

  it('stop in order: endpoints are updated before the process ends, and requests in flight end before it is killed', () => {
    const { sleep } = pod().containers[0].lifecycle.preStop;
    // 25 seconds: docs/operations.md, "Starting, stopping, health".
    expect(pod().terminationGracePeriodSeconds).toBeGreaterThan(sleep.seconds + 25);
  });

  it('share one database in one pod only, and lose at most one replica at a time', () => {
    const { replicas, strategy } = the('Deployment').spec;
    if (engine === 'sqlite') {
      expect([replicas, strategy.type]).toEqual([1, 'Recreate']);
      expect(the('PersistentVolumeClaim').spec.accessModes).toEqual(['ReadWriteOncePod']);
      expect(the('PodDisruptionBudget')).toBeUndefined();
    } else {
      expect(the('PersistentVolumeClaim')).toBeUndefined();
      expect(strategy.rollingUpdate).toMatchObject({ maxUnavailable: 0 });
      expect(the('PodDisruptionBudget').spec.minAvailable).toBe(replicas - 1);
    }
  });

  it('open no way to cloud metadata services, and one to etcd only if it is used', () => {
    const { ingress, egress } = the('NetworkPolicy').spec;
    expect(ingress).toEqual([{ ports: [{ port: 'https' }] }]);
    const rules = egress as { ports: { port: number }[]; to?: { ipBlock?: { cidr: string; except: string[] } }[] }[];
    expect(rules.some(({ ports }) => ports.some(({ port }) => port === 2379))).toBe(engine === 'etcd');
    const everywhere = rules.flatMap(({ to }) => to ?? []).find(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0');
    expect(everywhere?.ipBlock?.except).toContain('169.254.0.0/16');
  });
}

describeWithKubectl('the manifests for Kubernetes', () => {
  describe('kubernetes/base', () => checkInstallation('sqlite', () => kustomize(join(DEPLOY, 'kubernetes/base'))));
  describe('kubernetes/replicas', () =>
    checkInstallation('etcd', () => kustomize(join(DEPLOY, 'kubernetes/replicas'))));
});

describeWithKubectl('kubernetes/examples/restore.yaml', () => {
  it('has the image, the user and the volume of the pod whose database it restores', () => {
    const [restore] = parseManifests(read('kubernetes/examples/restore.yaml'));
    expect(restore === undefined ? 'empty' : misfitsOf(restore)).toEqual([]);
    // biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models above
    const of = ({ containers: [container], securityContext, volumes, automountServiceAccountToken }: any) => ({
      image: container.image,
      rights: [securityContext, container.securityContext, automountServiceAccountToken],
      data: volumes.find((volume: Json) => volume.name === 'data'),
      mount: container.volumeMounts.find((mount: Json) => mount.name === 'data'),
    });
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const deployment: any = kustomize(join(DEPLOY, 'kubernetes/base')).find(({ kind }) => kind === 'Deployment');
    expect(of(restore?.spec)).toEqual(of(deployment.spec.template.spec));
    expect(restore?.metadata.namespace).toBe(deployment.metadata.namespace);
  });
});

describeWith(go, 'the Helm chart', () => {
  beforeAll(() => void buildRenderer(), 600_000);
  describe('with default values', () =>
    checkInstallation('sqlite', () => renderChart({ values: [chartValues('default')] })));
  describe('with replicas on etcd', () =>
    checkInstallation('etcd', () => renderChart({ values: [chartValues('replicas')] })));
});

describe('kubernetes/examples/sync-export.yaml', () => {
  const manifests = parseManifests(read('kubernetes/examples/sync-export.yaml'));
  // biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models by the first test below
  const objects: any[] = manifests;
  const the = (kind: string) => objects.find((object) => object.kind === kind);
  const workload = the('Deployment') ?? the('Job');
  const pod = workload.spec.template.spec;
  const [container] = pod.containers;

  it('is valid in Kubernetes, and runs the release with flags that the command has', () => {
    expect(manifests.flatMap(misfitsOf)).toEqual([]);
    const { version } = JSON.parse(read('../package.json')) as { version: string };
    expect(container.image).toBe(`clusterpass:${version}`);
    expect(misuseOf(container.args)).toBeUndefined();
  });

  it('has one account, with its role, and only the permissions that the container needs', () => {
    const account = the('ServiceAccount').metadata;
    const bindings = objects.filter(({ kind }) => /^(Cluster)?RoleBinding$/.test(kind));
    expect(bindings.length).toBeGreaterThan(0);
    for (const { subjects, roleRef, metadata } of bindings) {
      expect(subjects).toEqual([{ kind: 'ServiceAccount', ...account }]);
      expect(the(roleRef.kind).metadata).toEqual({ ...metadata, name: roleRef.name });
    }
    expect([pod.serviceAccountName, workload.metadata.namespace]).toEqual([account.name, account.namespace]);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    const { capabilities, ...context } = container.securityContext;
    expect(context).toEqual({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
    expect(capabilities).toEqual({ drop: ['ALL'] });
  });

  it('mounts the token at the path that the command reads', () => {
    const file = (container.args as string[]).find((arg) => arg.startsWith('--token-file='))?.split('=')[1] ?? '';
    const mount = container.volumeMounts.find(({ mountPath }: Json) => dirname(file) === mountPath);
    const volume = pod.volumes.find((each: Json) => each.name === mount.name);
    const server = container.env.find((variable: Json) => variable.name === 'CLUSTERPASS_SERVER').value;
    expect(volume.projected.sources[0].serviceAccountToken.audience).toBe(server);
  });
});

describe('the unit for systemd', () => {
  it('starts the program with options that it accepts, as an unprivileged user', () => {
    const unit = read('systemd/clusterpass.service');
    expect(unit).toMatch(
      /^ExecStart=\/opt\/clusterpass\/bin\/clusterpass serve --config \/etc\/clusterpass\/clusterpass\.yaml$/m,
    );
    expect(unit).toMatch(/^User=clusterpass$/m);
    expect(optionsOf(read('systemd/clusterpass.yaml')).store.engine).toBe('sqlite');
  });

  it('starts again after every failure: a file that is missing may be mounted later', () => {
    const unit = read('systemd/clusterpass.service');
    expect(unit).toMatch(/^\[Unit\][^[]*^StartLimitIntervalSec=0$/m);
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).not.toMatch(/^RestartPreventExitStatus=/m);
  });
});

describe('the image', () => {
  it('is of the release that the manifests run, and copies only files that exist', () => {
    const { version } = JSON.parse(read('../package.json')) as { version: string };
    expect(read('Dockerfile')).toContain(`clusterpass:${version}`);
    expect(read('kubernetes/base/kustomization.yaml')).toContain(`newTag: ${version}`);
    expect(read('kubernetes/examples/cli-image-volume.yaml')).toContain(`reference: clusterpass:${version}`);
    expect(read('kubernetes/connector/kustomization.yaml')).toContain(`newTag: ${version}`);
    for (const name of ['clusterpass', 'clusterpass-connector']) {
      const chart = parse(read(`helm/${name}/Chart.yaml`)) as Json;
      expect([chart.version, chart.appVersion]).toEqual([version, version]);
    }
  });

  it('has the same settings whether Docker builds it or npm run image', () => {
    const dockerfile = read('Dockerfile');
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    const line = (word: string): string => new RegExp(`^${word} (.*)$`, 'm').exec(last)?.[1] ?? '';
    expect(line('USER')).toBe(CONFIG.user);
    expect(line('ENV').split(' ')).toEqual(CONFIG.env);
    expect(line('WORKDIR')).toBe(CONFIG.workingdir);
    expect([line('VOLUME')]).toEqual(CONFIG.volume);
    expect([line('EXPOSE')]).toEqual(CONFIG.exposedports);
    expect(JSON.parse(line('ENTRYPOINT'))).toEqual(CONFIG.entrypoint);
    expect(JSON.parse(line('CMD'))).toEqual(CONFIG.cmd);
  });
});
