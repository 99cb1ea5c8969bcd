import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as kubernetes from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { CONFIG } from '../../scripts/image.mjs';
import { KUBECTL } from '../../scripts/setup-kubectl.mjs';
import { loadServeOptions } from '../../src/config/load-options.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');

type Json = Readonly<Record<string, unknown>>;
interface Manifest extends Json {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** The models that are generated from Kubernetes' own OpenAPI: each says which fields it has, and of which type. */
interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[];
}
const MODELS = kubernetes as unknown as Readonly<Record<string, Model | undefined>>;

/** Where a value is not what its type in Kubernetes' API says: a misspelt field, a string for a number. */
function misfits(value: unknown, type: string, path: string): string[] {
  const list = /^Array<(.+)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${path}: not a list`];
    return value.flatMap((item, i) => misfits(item, list, `${path}[${i}]`));
  }
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (map !== undefined) return Object.entries(value as Json).flatMap(([k, v]) => misfits(v, map, `${path}.${k}`));
  const model = MODELS[type];
  if (model?.getAttributeTypeMap !== undefined) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: not a ${type}`];
    const fields = new Map(model.getAttributeTypeMap().map((field) => [field.baseName, field.type]));
    return Object.entries(value).flatMap(([name, inner]) => {
      const field = fields.get(name);
      return field === undefined ? [`${path}.${name}: no field of ${type}`] : misfits(inner, field, `${path}.${name}`);
    });
  }
  if (type === 'IntOrString') return ['string', 'number'].includes(typeof value) ? [] : [`${path}: not a ${type}`];
  return typeof value === type ? [] : [`${path}: not a ${type}`];
}

/** `apps/v1 Deployment` is V1Deployment: all kinds used here are in version 1. */
const misfitsOf = (manifest: Manifest): string[] => {
  expect(manifest.apiVersion).toMatch(/^(.+\/)?v1$/);
  return misfits(manifest, `V1${manifest.kind}`, `${manifest.kind} ${manifest.metadata.name}`);
};

const render = (folder: string): Manifest[] =>
  parseAllDocuments(execFileSync(KUBECTL, ['kustomize', join(DEPLOY, folder)], { encoding: 'utf8' })).map(
    (document) => document.toJS() as Manifest,
  );

describe('the check itself', () => {
  it('finds what Kubernetes would not accept', () => {
    const wrong = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'x', lables: {} },
      spec: { ports: [{ port: '443' }], selector: { a: 1 } },
    };
    expect(misfitsOf(wrong)).toEqual([
      'Service x.metadata.lables: no field of V1ObjectMeta',
      'Service x.spec.ports[0].port: not a number',
      'Service x.spec.selector.a: not a string',
    ]);
  });
});

/** A machine on which the files that the options name are there. */
let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'clusterpass-deploy-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** What the program makes of a file of options, with /etc and /var moved into a folder. */
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

describeWithKubectl('the manifests for Kubernetes', () => {
  for (const folder of ['kubernetes/base', 'kubernetes/replicas']) {
    describe(folder, () => {
      let manifests: Manifest[];
      const the = (kind: string) => manifests.find((manifest) => manifest.kind === kind) as Manifest;
      // biome-ignore lint/suspicious/noExplicitAny: looked into as far as the check above allows
      const pod = (): any => (the('Deployment') as any).spec.template.spec;
      beforeAll(() => {
        manifests = render(folder);
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

      it('mount every file that the options name, and nothing that is not there', () => {
        const [{ volumeMounts }] = pod().containers;
        // biome-ignore lint/suspicious/noExplicitAny: as above
        const text: string = (the('ConfigMap') as any).data['clusterpass.yaml'];
        for (const value of Object.values(parse(text) as Record<string, string>).filter((v) => v.startsWith('/'))) {
          const holders = volumeMounts.filter(({ mountPath }: { mountPath: string }) =>
            `${value}/`.startsWith(`${mountPath}/`),
          );
          expect(holders, value).toHaveLength(1);
        }
        const volumes = pod().volumes.map(({ name }: { name: string }) => name);
        expect(volumeMounts.map(({ name }: { name: string }) => name).toSorted()).toEqual(volumes.toSorted());
      });

      it('have options that the program accepts, and probe the port that it serves', () => {
        // biome-ignore lint/suspicious/noExplicitAny: as above
        const options = optionsOf((the('ConfigMap') as any).data['clusterpass.yaml']);
        expect(options.store.engine).toBe(folder.endsWith('base') ? 'sqlite' : 'etcd');
        expect(options.tls).toBeDefined();
        const [{ ports, livenessProbe, readinessProbe }] = pod().containers;
        expect(ports).toEqual([{ name: 'https', containerPort: options.listen.port }]);
        expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 'https', scheme: 'HTTPS' });
        expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'https', scheme: 'HTTPS' });
      });
    });
  }

  it('three replicas never have one database, and at most one of them goes at a time', () => {
    const manifests = render('kubernetes/replicas');
    expect(manifests.map(({ kind }) => kind)).not.toContain('PersistentVolumeClaim');
    expect(manifests.find(({ kind }) => kind === 'Deployment')).toMatchObject({
      spec: { replicas: 3, strategy: { rollingUpdate: { maxUnavailable: 0 } } },
    });
    expect(manifests.find(({ kind }) => kind === 'PodDisruptionBudget')).toMatchObject({ spec: { minAvailable: 2 } });
  });
});

describe('the unit for systemd', () => {
  it('starts the program with options that it accepts, as a user without rights', () => {
    const unit = read('systemd/clusterpass.service');
    expect(unit).toMatch(
      /^ExecStart=\/opt\/clusterpass\/bin\/clusterpass\.mjs serve --config \/etc\/clusterpass\/clusterpass\.yaml$/m,
    );
    expect(unit).toMatch(/^User=clusterpass$/m);
    expect(optionsOf(read('systemd/clusterpass.yaml')).store.engine).toBe('sqlite');
  });
});

describe('the image', () => {
  it('is of the release that the manifests run, and copies only what there is', () => {
    const { version } = JSON.parse(read('../package.json')) as { version: string };
    expect(read('Dockerfile')).toContain(`clusterpass:${version}`);
    expect(read('kubernetes/base/kustomization.yaml')).toContain(`newTag: ${version}`);
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
