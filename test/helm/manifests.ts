import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import * as kubernetes from '@kubernetes/client-node';
import { expect } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { KUBECTL } from '../../scripts/programs.ts';

export const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));

export type Json = Readonly<Record<string, unknown>>;
export interface Manifest extends Json {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Kubernetes and Helm read YAML 1.1, in which 0440 is an octal number. */
export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text, { version: '1.1' })
    .map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);

/** The objects that `kubectl apply -k` would send. */
export const kustomize = (folder: string): Manifest[] =>
  parseManifests(execFileSync(KUBECTL, ['kustomize', folder], { encoding: 'utf8' }));

/** The models that are generated from Kubernetes' own OpenAPI: each says which fields it has, and of which type. */
interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[];
}
const MODELS = kubernetes as unknown as Readonly<Record<string, Model | undefined>>;

/** The fields of a ServiceMonitor that are used here: the Prometheus operator's API, monitoring.coreos.com/v1. */
const MONITORING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ServiceMonitor: { apiVersion: 'string', kind: 'string', metadata: 'V1ObjectMeta', spec: 'ServiceMonitorSpec' },
  ServiceMonitorSpec: {
    endpoints: 'Array<Endpoint>',
    selector: 'V1LabelSelector',
    namespaceSelector: 'NamespaceSelector',
    jobLabel: 'string',
    targetLabels: 'Array<string>',
    podTargetLabels: 'Array<string>',
    sampleLimit: 'number',
  },
  NamespaceSelector: { any: 'boolean', matchNames: 'Array<string>' },
  Endpoint: {
    port: 'string',
    targetPort: 'IntOrString',
    scheme: 'string',
    path: 'string',
    interval: 'string',
    scrapeTimeout: 'string',
    honorLabels: 'boolean',
    authorization: 'SafeAuthorization',
    tlsConfig: 'TLSConfig',
  },
  SafeAuthorization: { type: 'string', credentials: 'V1SecretKeySelector' },
  TLSConfig: {
    serverName: 'string',
    insecureSkipVerify: 'boolean',
    ca: 'SecretOrConfigMap',
    cert: 'SecretOrConfigMap',
    keySecret: 'V1SecretKeySelector',
  },
  SecretOrConfigMap: { secret: 'V1SecretKeySelector', configMap: 'V1ConfigMapKeySelector' },
};

function fieldsOf(type: string): ReadonlyMap<string, string> | undefined {
  const known = MONITORING[type];
  if (known !== undefined) return new Map(Object.entries(known));
  const model = MODELS[type]?.getAttributeTypeMap?.();
  return model && new Map(model.map((field) => [field.baseName, field.type]));
}

/** The paths of values that do not have the type of Kubernetes' API: a misspelt field, a string for a number. */
function misfits(value: unknown, type: string, path: string): string[] {
  const list = /^Array<(.+)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${path}: not a list`];
    return value.flatMap((item, i) => misfits(item, list, `${path}[${i}]`));
  }
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  const fields = fieldsOf(type);
  if (map === undefined && fields === undefined) {
    if (type === 'IntOrString') return ['string', 'number'].includes(typeof value) ? [] : [`${path}: not a ${type}`];
    return typeof value === type ? [] : [`${path}: not a ${type}`];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: not a ${map ?? type}`];
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = map ?? fields?.get(name);
    return field === undefined ? [`${path}.${name}: no field of ${type}`] : misfits(inner, field, `${path}.${name}`);
  });
}

/** `apps/v1 Deployment` is V1Deployment: all kinds used here are in version 1. */
export const misfitsOf = (manifest: Manifest): string[] => {
  expect(manifest.apiVersion).toMatch(/^(.+\/)?v1$/);
  const type = manifest.kind in MONITORING ? manifest.kind : `V1${manifest.kind}`;
  return misfits(manifest, type, `${manifest.kind} ${manifest.metadata.name}`);
};

/** Labels and annotations that Helm and its conventions add. Pods are selected by the release, too. */
const OF_HELM = new Set([
  ...['helm.sh/chart', 'helm.sh/resource-policy', 'checksum/options'],
  ...['app.kubernetes.io/instance', 'app.kubernetes.io/version', 'app.kubernetes.io/managed-by'],
]);

/** Lists without an order, by the field that identifies an element. */
const SETS = { volumes: 'name', volumeMounts: 'mountPath' } as const;

/**
 * The objects by kind and name, in one form: without the marks of Helm, without the hash that kustomize adds to the
 * name of a ConfigMap, with options as values instead of text. The Namespace is left out: Helm creates it itself.
 */
export function comparable(manifests: readonly Manifest[]): Record<string, unknown> {
  const hashed = manifests.find(({ kind, metadata: { name } }) => kind === 'ConfigMap' && /-[a-z0-9]{10}$/.test(name));
  const plain = (value: unknown, field = ''): unknown => {
    if (value === hashed?.metadata.name) return hashed?.metadata.name.replace(/-[a-z0-9]{10}$/, '');
    if (field === 'clusterpass.yaml' || field === 'connector.yaml') return parse(String(value), { version: '1.1' });
    if (Array.isArray(value)) {
      const key = SETS[field as keyof typeof SETS];
      const items = value.map((item) => plain(item));
      return key === undefined ? items : items.toSorted((a, b) => nameOf(a, key).localeCompare(nameOf(b, key)));
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([name]) => !OF_HELM.has(name));
    const inner = Object.fromEntries(entries.map(([name, item]) => [name, plain(item, name)]));
    if ('annotations' in inner && Object.keys(inner.annotations as Json).length === 0) delete inner.annotations;
    return inner;
  };
  return Object.fromEntries(
    manifests
      .filter(({ kind }) => kind !== 'Namespace')
      .map((manifest) => plain(manifest) as Manifest)
      .map((manifest) => [`${manifest.kind} ${manifest.metadata.namespace}/${manifest.metadata.name}`, manifest]),
  );
}

const nameOf = (item: unknown, key: string): string => String((item as Json)[key]);
