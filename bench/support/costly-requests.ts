import { bodies } from './costly-bodies.ts';
import { ACCOUNTS, CLUSTERS, GRANTER_TOKEN, RBAC, REVIEWS, TOKEN, times } from './demo-paths.ts';

/**
 * Requests that are costly to parse or to evaluate, at the largest size that is accepted or just beyond it. Each has
 * blocked the event loop of this server or of another API server before. The id is that of the test that checks the
 * response.
 */
export interface CostlyRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer<ArrayBuffer>;
  /** Content-Type; application/json by default. */
  readonly type?: string;
  /** Of the caller; the administrator's by default; null for none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CostlyRow {
  readonly name: string;
  readonly request: CostlyRequest;
  /** The status codes that are right; 0 is a closed connection. */
  readonly codes: readonly number[];
  /** Sent first and not measured. */
  readonly before?: readonly CostlyRequest[];
}

const STRATEGIC = 'application/strategic-merge-patch+json';
const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const YAML = { Accept: 'application/yaml' };

const post = (path: string, value: unknown, more: Partial<CostlyRequest> = {}): CostlyRequest => ({
  method: 'POST',
  path,
  body: JSON.stringify(value),
  ...more,
});
const patch = (type: string, value: unknown): CostlyRequest => ({
  method: 'PATCH',
  path: `${ACCOUNTS}/many?dryRun=All`,
  type,
  body: JSON.stringify(value),
});
const get = (path: string, headers: Readonly<Record<string, string>> = {}): CostlyRequest => ({
  method: 'GET',
  path,
  headers,
});

const role = (name: string, rules: object[]) => ({ metadata: { name }, rules });
const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });
const granter = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'granter' };

/** Gives the granter the right to write roles, and 20 roles with many rules. */
function holding(rulesOf: (role: number) => object[]): CostlyRequest[] {
  const mayGrant = [{ verbs: ['create'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] }];
  const roles = [role('may-grant', mayGrant), ...times(20, (i) => role(`held-${i}`, rulesOf(i)))];
  return roles.flatMap((each) => [
    post(`${RBAC}/clusterroles`, each),
    post(`${RBAC}/clusterrolebindings`, {
      metadata: each.metadata,
      subjects: [granter],
      roleRef: roleRef(each.metadata.name),
    }),
  ]);
}

const ofPods = (name: string) => ({ verbs: ['get'], apiGroups: [''], resources: [name] });
const ofPath = (path: string) => ({ verbs: ['get'], nonResourceURLs: [path] });
const grant = (rules: object[]) =>
  post(`${RBAC}/clusterroles?dryRun=All`, role('wanted', rules), { token: GRANTER_TOKEN });

const grants: readonly CostlyRow[] = [
  {
    name: 'A19: a role of 1,000 rules, written by who holds 20,000',
    before: holding((n) => times(1_000, (i) => ofPods(`r-${n}-${i}`))),
    request: grant(times(1_000, (i) => ofPods(`w-${i}`))),
    codes: [403],
  },
  {
    name: 'A19: a role of 1,000 rules that are held, one by one',
    before: holding((n) => times(1_000, (i) => ofPods(`r-${n}-${i}`))),
    request: grant(times(1_000, (i) => ofPods(`r-1-${i}`))),
    codes: [201, 403],
  },
  {
    name: 'A19: a role of 4,900 resources, written by who holds 98,000',
    before: holding((n) => [{ ...ofPods(''), resources: times(4_900, (i) => `r-${n}-${i}`) }]),
    request: grant([{ ...ofPods(''), resources: times(4_900, (i) => `w-${i}`) }]),
    codes: [403],
  },
  {
    name: 'A19: a role of 95 x 95 x 95 parts',
    before: holding((n) => [ofPods(`r-${n}`)]),
    request: grant([
      { verbs: times(95, (i) => `v${i}`), apiGroups: times(95, (i) => `g${i}`), resources: times(95, (i) => `r${i}`) },
    ]),
    codes: [403],
  },
  {
    name: 'A19: a role of 4,900 paths, written by who holds 98,000',
    before: holding((n) => [{ ...ofPath(''), nonResourceURLs: times(4_900, (i) => `/r/${n}/${i}*`) }]),
    request: grant([{ ...ofPath(''), nonResourceURLs: times(4_900, (i) => `/w/${i}`) }]),
    codes: [403],
  },
  {
    name: 'A19: who holds 20,000 rules asks which',
    before: holding((n) => times(1_000, (i) => ofPods(`r-${n}-${i}`))),
    request: post(`${REVIEWS}/selfsubjectrulesreviews`, { spec: { namespace: 'ci' } }, { token: GRANTER_TOKEN }),
    codes: [201],
  },
];

const secrets = (count: number, reversed = false) =>
  times(count, (i) => ({ name: `s${reversed ? count - 1 - i : i}` }));
const many = post(ACCOUNTS, { metadata: { name: 'many' }, secrets: secrets(1_000) });

const writes: readonly CostlyRow[] = [
  {
    name: 'A19: 4,900 finalizers',
    request: post(ACCOUNTS, { metadata: { name: 'x', finalizers: times(4_900, (i) => `a.io/${i}`) } }),
    codes: [422],
  },
  {
    name: 'A19: a service account of 4,900 secrets',
    request: post(ACCOUNTS, { metadata: { name: 'x' }, secrets: secrets(4_900) }),
    codes: [422],
  },
  {
    name: 'A19: 1,000 labels, each wrong',
    request: post(ACCOUNTS, {
      metadata: { name: 'x', labels: Object.fromEntries(times(1_000, (i) => [`!${i}`, '!'])) },
    }),
    codes: [422],
  },
  {
    name: 'A19: 4,900 labels',
    request: post(ACCOUNTS, {
      metadata: { name: 'x', labels: Object.fromEntries(times(4_900, (i) => [`a.io/${i}`, 'b'])) },
    }),
    codes: [422],
  },
  {
    name: 'A19: 1,000 labels',
    request: post(ACCOUNTS, {
      metadata: { name: 'x', labels: Object.fromEntries(times(1_000, (i) => [`a.io/${i}`, 'b'])) },
    }),
    codes: [201],
  },
  {
    name: 'A19: a role of 1,000 rules',
    request: post(
      `${RBAC}/clusterroles`,
      role(
        'x',
        times(1_000, (i) => ofPods(`r${i}`)),
      ),
    ),
    codes: [201],
  },
  {
    name: 'A19: a binding of 2,400 subjects',
    request: post(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'x' },
      roleRef: roleRef('view'),
      subjects: times(2_400, (i) => ({ ...granter, name: `u${i}` })),
    }),
    codes: [201],
  },
  {
    name: 'A19: a cluster of 4,900 endpoints',
    request: post(CLUSTERS, {
      apiVersion: 'clusterregistry.k8s.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'x' },
      spec: {
        orchestratorApiEndpoints: {
          serverEndpoints: times(4_900, (i) => ({
            clientCIDR: '0.0.0.0/0',
            serverAddress: `https://a${i}.example.com`,
          })),
        },
      },
    }),
    codes: [422],
  },
  {
    name: 'A19: strategic merge of 4,900 finalizers in reverse',
    before: [many],
    request: patch(STRATEGIC, { metadata: { finalizers: times(4_900, (i) => `a.io/${4_899 - i}`) } }),
    codes: [400, 422],
  },
  {
    name: 'A19: strategic merge of 4,900 secrets in reverse',
    before: [many],
    request: patch(STRATEGIC, { secrets: secrets(4_900, true) }),
    codes: [400],
  },
  {
    name: 'A19: strategic merge of 1,000 secrets in reverse',
    before: [many],
    request: patch(STRATEGIC, { secrets: secrets(1_000, true) }),
    codes: [200],
  },
  {
    name: 'A19: strategic merge that deletes 4,900 secrets',
    before: [many],
    request: patch(STRATEGIC, { secrets: times(4_900, (i) => ({ $patch: 'delete', name: `s${i}` })) }),
    codes: [400],
  },
  {
    name: 'A19: strategic merge of an order of 4,900 secrets',
    before: [many],
    request: patch(STRATEGIC, { '$setElementOrder/secrets': secrets(4_900, true) }),
    codes: [200, 400],
  },
  {
    name: 'A19: merge patch of 8,000 annotations',
    before: [many],
    request: patch(MERGE, { metadata: { annotations: Object.fromEntries(times(8_000, (i) => [`a${i}`, 'b'])) } }),
    codes: [422],
  },
  {
    name: 'A19: JSON patch of 3,300 elements put in front',
    before: [many],
    request: patch(
      JSON_PATCH,
      times(3_300, (i) => ({ op: 'add', path: '/secrets/0', value: i })),
    ),
    codes: [400, 413, 422],
  },
  {
    name: 'A19: JSON patch that copies a list into itself',
    before: [many],
    request: patch(
      JSON_PATCH,
      times(3_300, () => ({ op: 'copy', from: '/secrets', path: '/secrets/-' })),
    ),
    codes: [400, 413, 422],
  },
  {
    name: 'A19: JSON patch that tests the whole object 3,300 times',
    before: [many],
    request: patch(
      JSON_PATCH,
      times(3_300, () => ({ op: 'test', path: '/secrets/999/name', value: 's999' })),
    ),
    codes: [200],
  },
];

const asked = (attributes: object) => ({ spec: { resourceAttributes: { verb: 'get', ...attributes } } });

const reviews: readonly CostlyRow[] = [
  {
    name: 'A19: a review that has 4,900 empty requirements, as YAML',
    request: post(
      `${REVIEWS}/selfsubjectaccessreviews`,
      asked({ labelSelector: { requirements: times(4_900, () => ({})) } }),
      { headers: YAML },
    ),
    codes: [422],
  },
  {
    name: 'A19: a review that has 4,900 values, as YAML',
    request: post(
      `${REVIEWS}/selfsubjectaccessreviews`,
      asked({ labelSelector: { requirements: [{ key: 'a', operator: 'In', values: times(4_900, (i) => `${i}`) }] } }),
      { headers: YAML },
    ),
    codes: [201],
  },
  {
    name: 'A19: a review of 3 MiB of name',
    request: post(`${REVIEWS}/selfsubjectaccessreviews`, asked({ name: '\u{1f600}'.repeat(700_000) })),
    codes: [422],
  },
];

const large = post(ACCOUNTS, {
  metadata: {
    name: 'large',
    annotations: Object.fromEntries(times(1_000, (i) => [`a.io/${i}`, `value ${i}`.padEnd(200)])),
  },
});

const reads: readonly CostlyRow[] = [
  { name: 'N-01: a large object as YAML', before: [large], request: get(`${ACCOUNTS}/large`, YAML), codes: [200] },
  { name: 'N-01: a list with a large object as YAML', before: [large], request: get(ACCOUNTS, YAML), codes: [200] },
  { name: 'F-13: a large object, indented', before: [large], request: get(`${ACCOUNTS}/large?pretty=1`), codes: [200] },
  { name: 'L-01: 300 clusters, as a list', request: get(CLUSTERS), codes: [200] },
  { name: 'L-01: 300 clusters, as YAML', request: get(CLUSTERS, YAML), codes: [200] },
  {
    name: 'B-01: 300 clusters, as a table',
    request: get(CLUSTERS, { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }),
    codes: [200],
  },
  { name: 'X-07: the OpenAPI of a group', request: get('/openapi/v3/apis/rbac.authorization.k8s.io/v1'), codes: [200] },
  {
    name: 'C-G: a selector of 3,000 conditions',
    request: get(`${CLUSTERS}?labelSelector=${'a!=b,'.repeat(2_500)}a`),
    codes: [200, 400],
  },
  {
    name: 'C-G: a selector that never ends',
    request: get(`${CLUSTERS}?labelSelector=a%20in%20(${'b,'.repeat(6_000)}`),
    codes: [400],
  },
  {
    name: 'C-G: a field selector of 1,000 conditions',
    request: get(`${CLUSTERS}?fieldSelector=${'metadata.name!=b,'.repeat(700)}metadata.name!=c`),
    codes: [200, 400],
  },
  { name: 'C-G: a continue token of 12 KB', request: get(`${CLUSTERS}?continue=${'A'.repeat(12_000)}`), codes: [400] },
  { name: 'C-G: a path of 12 KB', request: get(`${CLUSTERS}/${'a'.repeat(12_000)}`), codes: [400, 404] },
  { name: 'C-G: a path of 4,000 segments', request: get(`${CLUSTERS}${'/a'.repeat(4_000)}`), codes: [400, 404] },
  { name: 'C-G: 3,000 parameters', request: get(`${CLUSTERS}?${'a=1&'.repeat(3_000)}`), codes: [200] },
  { name: 'C-C: an Accept of 2,000 types', request: get(CLUSTERS, { Accept: 'a/b,'.repeat(2_500) }), codes: [406] },
  {
    name: 'C-C: a token of 12 KB',
    request: { ...get(CLUSTERS), token: `${'a'.repeat(6_000)}.${'b'.repeat(6_000)}.c` },
    codes: [401],
  },
  { name: 'C-C: a token of 6,000 dots', request: { ...get(CLUSTERS), token: '.'.repeat(6_000) }, codes: [401] },
  {
    name: 'C-D: a token whose claims nest 1,500 levels',
    request: { ...get(CLUSTERS), token: jwt({ alg: 'ES256', kid: 'x' }, `${'['.repeat(1_500)}${']'.repeat(1_500)}`) },
    codes: [401],
  },
  {
    name: 'C-D: a token whose key id is 8 KB',
    request: { ...get(CLUSTERS), token: jwt({ alg: 'ES256', kid: 'x'.repeat(8_000) }, '{}') },
    codes: [401],
  },
  { name: 'C-D: an unsigned token', request: { ...get(CLUSTERS), token: jwt({ alg: 'none' }, '{}') }, codes: [401] },
];

function jwt(header: object, claims: string): string {
  const part = (text: string) => Buffer.from(text).toString('base64url');
  return `${part(JSON.stringify(header))}.${part(claims)}.${'A'.repeat(86)}`;
}

const clusters300: readonly CostlyRow[] = reads.map((row) =>
  row.name.includes('300 clusters') ? { ...row, before: times(300, (i) => post(CLUSTERS, clusterOf(i))) } : row,
);

function clusterOf(index: number): object {
  return {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: `many-${index}`, annotations: { 'example.com/note': 'n'.repeat(2_000) } },
  };
}

const bodyRows: readonly CostlyRow[] = bodies.map(({ name, codes, ...body }) => ({
  name,
  codes,
  request: { method: 'POST', path: TOKEN, ...body },
}));

export const costlyRows: readonly CostlyRow[] = [...bodyRows, ...writes, ...reviews, ...grants, ...clusters300];
