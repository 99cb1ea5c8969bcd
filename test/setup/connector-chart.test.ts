import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { go } from '../../scripts/programs.ts';
import { readRules } from '../../src/connector/configuration.ts';
import { describeWith } from '../describe-with.ts';
import { misuseOf } from '../documents/support/connect-pages.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { comparable, DEPLOY, type Json, kustomize, type Manifest, misfitsOf } from '../helm/manifests.ts';
import { buildRenderer, chartValues, render, renderChart } from '../helm/render-chart.ts';

/** How the connector is installed in a cluster, by kustomize and by Helm. */

const CHART = join(DEPLOY, 'helm/clusterpass-connector');
const NAMESPACE = 'clusterpass-connector';
const rendered = (...values: string[]): Manifest[] => renderChart({ chart: CHART, namespace: NAMESPACE, values });
const valuesOf = (name: string): string => chartValues(name, CHART);

const rule = (resource: string, verbs: string, names?: string[], group = ''): Json => ({
  apiGroups: [group],
  resources: resource.split(','),
  ...(names === undefined ? {} : { resourceNames: names }),
  verbs: verbs.split(','),
});
const OWN_RULES = [
  rule('leases', 'create', undefined, 'coordination.k8s.io'),
  rule('leases', 'get,update', [NAMESPACE], 'coordination.k8s.io'),
  rule('configmaps', 'create'),
  rule('configmaps', 'get,patch', ['clusterpass-connector-records']),
];
const SECRETS = rule('secrets', 'create,delete');
const FLEET_RULES = (mirrored: string): Json[] => [
  rule(mirrored, 'list,watch'),
  rule('namespaces', 'get', ['kube-system']),
  rule('nodes', 'list'),
  { nonResourceURLs: ['/readyz', '/version', '/openid/v1/jwks'], verbs: ['get'] },
];

/** All that the connector may do: a right more is a change of this test. */
const rightsIn = (manifests: readonly Manifest[]): Json =>
  Object.fromEntries(
    manifests
      .filter(({ kind }) => /^(Cluster)?Role$/.test(kind))
      .map(({ metadata, rules }) => [metadata.namespace ?? 'cluster', rules]),
  );

/** What every installation has. */
function check(manifests: readonly Manifest[]): void {
  expect(manifests.flatMap(misfitsOf)).toEqual([]);
  // biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models above
  const the = (kind: string): any => manifests.find((manifest) => manifest.kind === kind);
  const pod = the('Deployment').spec.template.spec;
  const [{ args, env, securityContext, volumeMounts }] = pod.containers;
  expect(misuseOf(args)).toBeUndefined();
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
  expect(securityContext).toEqual({
    ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  });
  expect(volumeMounts.map(({ name }: Json) => name)).toEqual(pod.volumes.map(({ name }: Json) => name));
  const server = env.find(({ name }: Json) => name === 'CLUSTERPASS_SERVER').value;
  const [{ serviceAccountToken }] = pod.volumes[1].projected.sources;
  expect([server, serviceAccountToken.audience]).toEqual([
    expect.stringMatching(/^https:/),
    'https://clusterpass.example.com/connectors/dev-eu-7',
  ]);
  const account = `system:serviceaccount:${NAMESPACE}:clusterpass-connector`;
  const { matchConditions, validations } = the('ValidatingAdmissionPolicy').spec;
  expect(matchConditions[0].expression).toBe(`request.userInfo.username == '${account}'`);
  expect(validations[0].expression).toBe(
    "request.operation == 'DELETE' ? oldObject.type == 'clusterpass.dev/pass' : " +
      "object.type == 'clusterpass.dev/pass' && !has(object.data)",
  );
  for (const { kind, subjects, roleRef } of manifests as readonly (Manifest & { subjects: Json; roleRef: Json })[]) {
    if (!kind.endsWith('RoleBinding')) continue;
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'clusterpass-connector', namespace: NAMESPACE }]);
    expect(roleRef).toMatchObject({ kind: kind.replace('Binding', ''), name: 'clusterpass-connector' });
  }
}

const rulesIn = (manifests: readonly Manifest[]) => {
  const { data } = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as { data: Record<string, string> };
  return readRules(Buffer.from(data['connector.yaml'] ?? ''), NAMESPACE);
};

describeWithKubectl('kubernetes/connector', () => {
  it('A51: lets the connector do what its configuration says, and read no Secret', () => {
    const manifests = kustomize(join(DEPLOY, 'kubernetes/connector'));
    check(manifests);
    expect(rulesIn(manifests)).toMatchObject({ allow: [{ namespace: 'shop', accounts: ['deployer'] }] });
    expect(rightsIn(manifests)).toEqual({
      cluster: FLEET_RULES('namespaces,serviceaccounts,pods'),
      [NAMESPACE]: OWN_RULES,
      shop: [rule('serviceaccounts/token', 'create', ['deployer']), SECRETS],
      'clusterpass-people-devs': [
        rule('serviceaccounts', 'create,delete'),
        rule('serviceaccounts/token', 'create'),
        SECRETS,
      ],
    });
  });
});

describeWith(go, 'the Helm chart of the connector', () => {
  beforeAll(() => void buildRenderer(), 600_000);

  describeWithKubectl('with the same values', () => {
    it('has the objects of kustomize', () => {
      const expected = comparable(kustomize(join(DEPLOY, 'kubernetes/connector')));
      const found = comparable(rendered(valuesOf('default')));
      const configuration = (all: Record<string, unknown>): Json =>
        (all[`ConfigMap ${NAMESPACE}/clusterpass-connector`] as { data: Json }).data;
      expect(Object.keys(found).toSorted()).toEqual(Object.keys(expected).toSorted());
      // The chart writes the defaults of the program, too.
      expect(configuration(found)['connector.yaml']).toMatchObject(configuration(expected)['connector.yaml'] as Json);
      const others = (all: object) => Object.entries(all).filter(([name]) => !name.startsWith('ConfigMap'));
      expect(Object.fromEntries(others(found))).toEqual(Object.fromEntries(others(expected)));
    });
  });

  it('gives valid objects with every value', () => {
    const manifests = rendered(valuesOf('full'));
    check(manifests);
    expect(rulesIn(manifests)).toEqual({
      orders: true,
      revocable: true,
      mirror: { accounts: true, pods: false },
      allow: [
        { namespace: 'shop', accounts: ['deployer'], maxSeconds: 900 },
        { namespace: 'ci', accounts: ['*'], maxSeconds: 3600 },
      ],
      people: [{ group: 'devs', maxSeconds: 1800 }],
    });
    expect(rightsIn(manifests)).toMatchObject({
      cluster: FLEET_RULES('namespaces,serviceaccounts'),
      ci: [rule('serviceaccounts/token', 'create'), SECRETS],
    });
    const text = JSON.stringify(manifests.find(({ kind }) => kind === 'Deployment'));
    for (const part of ['--address=https://dev-eu-7.example.com:6443', '--certificate-authority=', 'HTTPS_PROXY']) {
      expect(text).toContain(part);
    }
    const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as { properties: Json };
    const defaults = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Json;
    const known = Object.keys(schema.properties).filter((name) => name !== 'global');
    expect(Object.keys(defaults).toSorted()).toEqual(known.toSorted());
    expect(Object.keys(parse(valuesOf('full')) as Json).toSorted()).toEqual(known.toSorted());
  });

  it('gives fewer rights to a connector that revokes or issues nothing', () => {
    const [without, reporting] = ['revocable: false', 'orders: false'].map((more) =>
      rightsIn(rendered(valuesOf('default'), more)),
    );
    expect(JSON.stringify(without)).not.toContain('secrets');
    expect(Object.keys(reporting ?? {}).toSorted()).toEqual(['cluster', NAMESPACE]);
  });

  it.each([
    ['no cluster', 'cluster: ""', 'cluster: set the name of the cluster in Clusterpass'],
    ['no server', 'server: ""', 'server: set the address of Clusterpass, such as https://clusterpass.example.com'],
    ['a misspelt value', 'alow: []', 'Additional property alow is not allowed'],
    ['a misspelt field', 'allow: [{ namespace: shop, account: [a] }]', 'Additional property account is not allowed'],
    ['its own namespace', `allow: [{ namespace: ${NAMESPACE}, accounts: [a] }]`, 'the namespace of the connector'],
    ['copies of Pods alone', 'mirror: { accounts: false }', 'mirror.pods: a copy of a Pod needs that of its account'],
  ])('refuses %s', (_, values, problem) => {
    const { error = '' } = render({ chart: CHART, namespace: NAMESPACE, values: [valuesOf('default'), values] });
    expect(error.replaceAll(/\s+/g, ' ')).toContain(problem);
  });
});
