import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { go } from '../../scripts/programs.ts';
import { keyOf, OPTION_NAMES } from '../../src/config/options.ts';
import { describeWith } from '../describe-with.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { comparable, DEPLOY, type Json, kustomize, type Manifest, misfitsOf } from '../helm/manifests.ts';
import { buildRenderer, CHART, chartValues, render, renderChart } from '../helm/render-chart.ts';

interface Schema extends Json {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}
const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Schema;
const defaults = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Json;

/** `service.port`, for every value that has a default. */
function pathsOf(value: unknown, prefix: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...prefix, key], ...pathsOf(inner, [...prefix, key])]);
}

/** The same of the schema, where it lists names. */
const namesOf = ({ properties = {} }: Schema, prefix = ''): string[] =>
  Object.entries(properties).flatMap(([key, inner]) => [`${prefix}${key}`, ...namesOf(inner, `${prefix}${key}.`)]);

describeWith(go, 'the Helm chart', () => {
  beforeAll(() => void buildRenderer(), 600_000);

  describeWithKubectl('has the objects of kustomize, with the same fields', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'clusterpass-kustomize-'));
    });

    it.each([
      ['base', 'default', 6],
      ['replicas', 'replicas', 6],
    ])('%s', (overlay, values, count) => {
      const expected = kustomize(join(DEPLOY, 'kubernetes', overlay));
      const found = renderChart({ values: [chartValues(values)] });
      expect(Object.keys(comparable(found))).toHaveLength(count);
      expect(comparable(found)).toEqual(comparable(expected));
      // The one object more: Helm creates the namespace with --create-namespace.
      expect(expected.map(({ kind }) => kind).toSorted()).toEqual(
        ['Namespace', ...found.map(({ kind }) => kind)].toSorted(),
      );
    });

    it('replicas with the component for the Prometheus operator', () => {
      const path = (name: string): string => relative(folder, join(DEPLOY, 'kubernetes', name));
      const kustomization = { resources: [path('replicas')], components: [path('service-monitor')] };
      writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization));
      const expected = kustomize(folder);
      expect(expected.flatMap(misfitsOf)).toEqual([]);
      const found = renderChart({ values: [chartValues('replicas'), 'serviceMonitor: { enabled: true }'] });
      expect(comparable(found)).toEqual(comparable(expected));
      expect(comparable(found)['ServiceMonitor clusterpass/clusterpass']).toBeDefined();
    });
  });

  describe('values', () => {
    it('are all in the schema, and all of the schema are used in ci/full-values.yaml', () => {
      expect(pathsOf(defaults).map(([first]) => first)).toEqual(
        expect.arrayContaining(Object.keys(schema.properties ?? {}).filter((name) => name !== 'global')),
      );
      const used = new Set(pathsOf(parse(chartValues('full'))).map((path) => path.join('.')));
      const unused = namesOf(schema).filter((name) => !used.has(name) && !name.startsWith('config.'));
      expect(unused).toEqual([
        'global',
        'store.sqlite',
        'store.sqlite.size',
        'store.sqlite.storageClassName',
        ...['store.sqlite.existingClaim', 'resources.claims'],
      ]);
    });

    it('config has every option of the server but those that the chart sets', () => {
      const missing = OPTION_NAMES.map(keyOf).filter(
        (key) => !(`${key}` in (schema.properties?.config?.properties ?? {})),
      );
      const set = Object.keys(
        parse(
          optionsOf(
            ['default', 'replicas'].map((name) => chartValues(name)),
            'store: { etcd: { username: x } }',
          ),
        ) as Json,
      );
      // Limits of audit logs are defaults. No plain HTTP, in either direction.
      const fixed = [...set.filter((key) => !key.startsWith('audit-')), 'config', 'etcd-insecure', 'insecure-http'];
      expect(missing.toSorted()).toEqual(fixed.toSorted());
    });

    it('every value of the chart can be set, and gives valid objects', () => {
      const found = renderChart({ values: [chartValues('full')], name: 'passes', namespace: 'fleet' });
      expect(found.flatMap(misfitsOf)).toEqual([]);
      expect(found.map(({ kind, metadata: { name } }) => `${kind} ${name}`).toSorted()).toEqual([
        'ConfigMap fleet-passes',
        'ConfigMap fleet-passes-manifests',
        'ConfigMap fleet-passes-text',
        'ConfigMap passes-about',
        'Deployment fleet-passes',
        'NetworkPolicy fleet-passes',
        'PodDisruptionBudget fleet-passes',
        'Service fleet-passes',
        'ServiceAccount passes',
        'ServiceMonitor fleet-passes',
      ]);
      const text = (kind: string): string => JSON.stringify(found.find((manifest) => manifest.kind === kind));
      expect(text('Deployment')).toMatch(/"image":"registry.example.org\/clusterpass@sha256:[0-9a-f]{64}"/);
      expect(text('Deployment')).toContain('"failureThreshold":120,"periodSeconds":2,"timeoutSeconds":5');
      expect(text('Deployment')).toContain('"path":"credentials/fleet/beta/tls.key"');
      // Without a selector a constraint counts no pods, and spreads nothing.
      expect(found.find(({ kind }) => kind === 'Deployment')).toMatchObject({
        spec: {
          template: {
            spec: {
              topologySpreadConstraints: [
                { maxSkew: 2, labelSelector: { matchLabels: { 'app.kubernetes.io/instance': 'passes' } } },
              ],
            },
          },
        },
      });
      expect(text('NetworkPolicy')).toContain('{"ports":[{"port":2379},{"port":12379}]},{"ports":[{"port":4318}]}');
      expect(text('PodDisruptionBudget')).toContain('"minAvailable":3');
      expect(text('ServiceMonitor')).toContain('"release":"prometheus"');
    });

    it.each([
      ['a misspelt value', 'replica: 2', '(root): Additional property replica is not allowed'],
      ['a misspelt option', 'config: { log-levle: debug }', 'config: Additional property log-levle is not allowed'],
      ['an option that the chart sets', 'config: { listen: "0.0.0.0:1" }', 'config: Additional property listen'],
      [
        'etcd with settings of SQLite',
        'store: { engine: etcd, etcd: { endpoints: ["a:2379"] }, sqlite: { size: 9Gi } }',
        'store.sqlite: Additional property size is not allowed',
      ],
      [
        'SQLite with settings of etcd',
        'store: { etcd: { endpoints: ["a:2379"] } }',
        'store.etcd: Additional property endpoints is not allowed',
      ],
      ['plain HTTP', 'baseUrl: http://clusterpass.example.com', 'baseUrl: Does not match pattern'],
      [
        'half a credential',
        'credentials: [{ namespace: a, name: b, secretName: c, keys: [tls.crt] }]',
        'credentials.0.keys must be one of',
      ],
      ['no address', 'baseUrl: ""', 'baseUrl: set the public address, such as https://clusterpass.example.com'],
      ['replicas on SQLite', 'replicas: 3', 'replicas: 3 replicas need store.engine etcd; SQLite is for one pod'],
      [
        'a short grace period',
        'preStopSleepSeconds: 20',
        'terminationGracePeriodSeconds: must be above preStopSleepSeconds + config.shutdown-delay + 25',
      ],
      [
        'a grace period that is short with a long delay',
        'terminationGracePeriodSeconds: 119\nconfig: { shutdown-delay: 1m30s }',
        'terminationGracePeriodSeconds: must be above preStopSleepSeconds + config.shutdown-delay + 25',
      ],
      [
        'an option from two values',
        'config: { manifests: /m }\nmanifests: { a.yaml: "" }',
        'config.manifests: the chart sets it from another value',
      ],
    ])('%s is refused', (_, values, message) => {
      const { error, manifests } = render({ values: [chartValues('default'), values] });
      expect(manifests).toBeUndefined();
      expect(error).toContain(message);
    });

    it('a budget that blocks every drain is refused', () => {
      const values = [chartValues('replicas'), 'podDisruptionBudget: { minAvailable: 3 }'];
      expect(render({ values }).error).toContain('podDisruptionBudget.minAvailable: must be below replicas');
    });

    it('null instead of a value is refused, with its name', () => {
      // Kubernetes has defaults for requests, limits and the fields of a probe.
      const optional = ([first, , third]: string[]): boolean => first === 'resources' || third !== undefined;
      for (const path of pathsOf(defaults).filter((one) => !optional(one))) {
        const text = stringify(path.toReversed().reduce<unknown>((inner, key) => ({ [key]: inner }), null));
        expect(render({ values: [chartValues('default'), text] }).error, path.join('.')).toContain(
          `${path.at(-1)} is required`,
        );
      }
    });

    it('numbers keep all digits, and 0 and false are not taken for missing', () => {
      const options = optionsOf([
        chartValues('default'),
        'config: { max-connections: 1000000, audit-log-maxbackup: 0, probe-interval: 0, demo: false }',
      ]);
      expect(options).toMatch(/^max-connections: 1000000$/m);
      expect(parse(options)).toMatchObject({ 'audit-log-maxbackup': 0, 'probe-interval': 0, demo: false });
    });
  });

  it('a change of options restarts the pods, a change of identity providers does not', () => {
    const checksum = (...values: string[]): unknown => {
      const [deployment] = renderChart({ values: [chartValues('default'), ...values] }).filter(
        ({ kind }) => kind === 'Deployment',
      );
      return JSON.stringify(deployment?.spec).match(/"checksum\/options":"(\w{64})"/)?.[1];
    };
    const provider = (name: string): string =>
      `authenticationConfig: { kind: AuthenticationConfiguration, jwt: [${name}] }`;
    expect(checksum()).toMatch(/^\w{64}$/);
    expect(checksum('config: { log-level: debug }')).not.toBe(checksum());
    expect(checksum(provider('a'))).toBe(checksum(provider('b')));
  });

  it('two releases in one namespace share no object and select no pod of the other', () => {
    const [one, two] = ['one', 'two'].map((name) => renderChart({ values: [chartValues('replicas')], name }));
    const names = (manifests: readonly Manifest[] = []) => Object.keys(comparable(manifests));
    expect(names(one).filter((name) => names(two).includes(name))).toEqual([]);
    const selector = (manifests: readonly Manifest[] = []) =>
      (manifests.find(({ kind }) => kind === 'Service')?.spec as { selector: Json } | undefined)?.selector;
    expect(selector(one)).not.toEqual(selector(two));
  });

  describe('NOTES.txt', () => {
    const notes = (objects: Manifest[], ...values: string[]): string =>
      render({ values: [chartValues('replicas'), ...values], objects }).notes ?? '';

    it('names the Secrets that are missing, and how to create them', () => {
      const text = notes([]);
      expect(text).toContain('Clusterpass 0.1.0 is installed: https://clusterpass.example.com');
      for (const name of ['keys', 'tls', 'etcd']) expect(text).toContain(`The Secret clusterpass-${name} is missing.`);
      expect(text).toContain(
        'kubectl -n clusterpass create secret generic clusterpass-keys --from-file=encryption.key --from-file=admin.token',
      );
    });

    it.each(['default', 'replicas'] as const)('writes secrets to files of their owner alone: %s', (name) => {
      const text = render({ values: [chartValues(name)], objects: [] }).notes ?? '';
      const writing = text.split('\n').filter((line) => / > \S+$|> \S+\)$/.test(line));
      expect(writing.length).toBeGreaterThan(1);
      expect(writing.filter((line) => !/^ {2}\(umask 077; .* > \S+\)$/.test(line))).toEqual([]);
    });

    it('warns if the Prometheus operator is not installed', () => {
      const values = [chartValues('replicas'), 'serviceMonitor: { enabled: true }'];
      const warning = 'this cluster does not serve monitoring.coreos.com/v1';
      expect(render({ values }).notes).toContain(warning);
      expect(render({ values, apiVersions: ['monitoring.coreos.com/v1'] }).notes).not.toContain(warning);
    });
  });
});

/** clusterpass.yaml for these values. */
function optionsOf(values: readonly string[], more = '{}'): string {
  const config = renderChart({ values: [...values, more] }).find(({ kind }) => kind === 'ConfigMap');
  return (config?.data as Record<string, string> | undefined)?.['clusterpass.yaml'] ?? '';
}
