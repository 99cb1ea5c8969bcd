import type { Call } from './client.ts';
import { accountsPath, BINDINGS_PATH, CLUSTERS_PATH, tokenPath } from './objects.ts';

export interface CostlyRequest extends Call {
  readonly method: string;
  readonly path: string;
}

interface CostlyRow {
  readonly name: string;
  readonly request: CostlyRequest;
  /** The status codes that are right; 0 is a closed connection. */
  readonly codes: readonly number[];
}

/** A caller that may write roles, and holds many rules. */
export const GRANTER = { name: 'granter', token: 'token-of-granter-0123456789' };

const ACCOUNTS = accountsPath('prod-eu-1', 'ci');
const TOKEN = tokenPath('prod-eu-1', 'ci', 'builder');
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const REVIEWS = '/apis/authorization.k8s.io/v1';
const DRY = 'dryRun=All';
/** The largest body that the server accepts. */
const LIMIT = 3_145_728;
const AS_YAML = { Accept: 'application/yaml' };

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const names = (count: number, prefix: string): string[] => times(count, (i) => `${prefix}${i}`);
const filled = (piece: string, room = LIMIT - 64): string => piece.repeat(Math.floor(room / piece.length));
const audience = (inside: string): string => `{"spec":{"audiences":["${inside}"]}}`;

const row = (name: string, request: CostlyRequest, ...codes: number[]): CostlyRow => ({ name, request, codes });
const post = (path: string, body: object | string, more: Partial<CostlyRequest> = {}): CostlyRequest => ({
  ...{ method: 'POST', path, body },
  ...more,
});
const get = (path: string, headers: Readonly<Record<string, string>> = {}): CostlyRequest => ({
  ...{ method: 'GET', path, headers },
});
const patch = (format: 'strategic-merge' | 'merge' | 'json', value: object): CostlyRequest =>
  post(`${ACCOUNTS}/many?${DRY}`, value, { method: 'PATCH', type: `application/${format}-patch+json` });

const role = (name: string, rules: object[]) => ({ metadata: { name }, rules });
const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });
const granter = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: GRANTER.name };
const resources = (...all: string[]) => ({ verbs: ['get'], apiGroups: [''], resources: all });
const rules = (count: number, prefix: string): object[] => names(count, prefix).map((name) => resources(name));
const paths = (nonResourceURLs: string[]) => ({ verbs: ['get'], nonResourceURLs });
/** A product of 857,375 parts. */
const product = { verbs: names(95, 'v'), apiGroups: names(95, 'g'), resources: names(95, 'r') };

/** The roles that the granter holds: 20,000 rules, 98,000 resources and as many paths. */
const HELD = [
  role('may-grant', [{ verbs: ['create'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] }]),
  ...times(20, (n) => role(`rules-${n}`, rules(1_000, `r-${n}-`))),
  ...times(20, (n) => role(`resources-${n}`, [resources(...names(4_900, `r-${n}-`))])),
  ...times(20, (n) => role(`paths-${n}`, [paths(names(4_900, `/r/${n}/`).map((path) => `${path}*`))])),
];

const secrets = (count: number, reversed = false) =>
  times(count, (i) => ({ name: `s${reversed ? count - 1 - i : i}` }));
const labels = (count: number, make: (index: number) => [string, string]): object =>
  Object.fromEntries(times(count, make));

/** Of one manager: so many labels and annotations of an account, from this number on. */
function applied(manager: string, from: number, count: number, value: string, query = ''): CostlyRequest {
  const values = labels(count, (i) => [`example.com/${from + i}`, value]);
  const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'owned', labels: values } };
  Object.assign(body.metadata, { annotations: values });
  const path = `${ACCOUNTS}/owned?fieldManager=${manager}${query}`;
  return post(path, body, { method: 'PATCH', type: 'application/apply-patch+yaml' });
}

/** Sent first and not measured. */
export const PREPARATIONS: readonly CostlyRequest[] = [
  ...HELD.flatMap((each) => [
    post(ROLES, each),
    post(BINDINGS_PATH, { metadata: each.metadata, subjects: [granter], roleRef: roleRef(each.metadata.name) }),
  ]),
  post(ACCOUNTS, { metadata: { name: 'many' }, secrets: secrets(1_000) }),
  post(ACCOUNTS, {
    metadata: { name: 'large', annotations: labels(1_000, (i) => [`a.io/${i}`, `value ${i}`.padEnd(200)]) },
  }),
  ...times(19, (i) => applied(`m${i}`, i * 50, 50, 'v')),
];

const grant = (name: string, ...wanted: object[]): CostlyRow =>
  row(`a role of ${name}`, post(`${ROLES}?${DRY}`, role('wanted', wanted), { token: GRANTER.token }), 403);
const manySubjects = { roleRef: roleRef('view'), subjects: times(2_400, (i) => ({ ...granter, name: `u${i}` })) };
const review = (resourceAttributes: object, headers = {}): CostlyRequest =>
  post(
    `${REVIEWS}/selfsubjectaccessreviews`,
    { spec: { resourceAttributes: { verb: 'get', ...resourceAttributes } } },
    { headers },
  );
const copy = { op: 'copy', from: '/secrets', path: '/secrets/-' };
const check = { op: 'test', path: '/secrets/999/name', value: 's999' };
const inFront = times(3_300, (i) => ({ op: 'add', path: '/secrets/0', value: i }));

/**
 * Requests to a server with `--demo` that are costly to parse or to evaluate, at the largest size that is accepted or
 * just beyond it. Each has blocked the event loop of this server or of another API server before. What is refused
 * before it costs anything is in test/e2e/attack-event-loop.test.ts, and test/fuzz/faults.test.ts holds the parsers to
 * the same limit.
 */
export const COSTLY: readonly CostlyRow[] = [
  row('3 MiB of one string in escapes', post(TOKEN, audience(filled('\\u0041'))), 400),
  row('1 MiB of one string in quotes', post(TOKEN, audience(filled('\\"', 1_048_576))), 422),
  row('9,900 unknown fields', post(TOKEN, `{${times(9_900, (i) => `"k${i}":1`).join(',')}}`), 422),
  row(
    '1,000 wrong labels',
    post(ACCOUNTS, { metadata: { name: 'x', labels: labels(1_000, (i) => [`!${i}`, '!']) } }),
    422,
  ),
  row('a role of 1,000 rules', post(`${ROLES}?${DRY}`, role('x', rules(1_000, 'r'))), 201),
  row(
    'a binding of 2,400 subjects',
    post(`${BINDINGS_PATH}?${DRY}`, { metadata: { name: 'x' }, ...manySubjects }),
    201,
  ),
  row('a strategic merge of 1,000 secrets', patch('strategic-merge', { secrets: secrets(1_000, true) }), 200),
  row('a patch of 3,300 elements put in front', patch('json', inFront), 400, 413, 422),
  row('a patch that copies a list into itself', patch('json', Array(3_300).fill(copy)), 400, 413, 422),
  row('a patch of 3,300 tests', patch('json', Array(3_300).fill(check)), 200),
  row('an apply to 1,900 fields of 19 managers', applied('m0', 0, 950, 'w', `&force=true&${DRY}`), 200),
  row('an apply with 1,800 conflicts', applied('m0', 0, 950, 'w'), 409),
  row(
    'a review of 4,900 empty requirements, as YAML',
    review({ labelSelector: { requirements: Array(4_900).fill({}) } }, AS_YAML),
    422,
  ),
  row('a review of 3 MiB of name', review({ name: '\u{1f600}'.repeat(700_000) }), 422),
  grant('1,000 rules, by who holds 20,000', ...rules(1_000, 'w-')),
  grant('4,900 resources, by who holds 98,000', resources(...names(4_900, 'w-'))),
  grant('4,900 paths, by who holds 98,000', paths(names(4_900, '/w/'))),
  grant('95 x 95 x 95 parts', product),
  row(
    'own rules, of 20,000',
    post(`${REVIEWS}/selfsubjectrulesreviews`, { spec: { namespace: 'ci' } }, { token: GRANTER.token }),
    201,
  ),
  row('a large object as YAML', get(`${ACCOUNTS}/large`, AS_YAML), 200),
  row('a large object, indented', get(`${ACCOUNTS}/large?pretty=1`), 200),
  row('a selector of 2,500 conditions', get(`${CLUSTERS_PATH}?labelSelector=${'a!=b,'.repeat(2_500)}a`), 200, 400),
  row('3,000 parameters', get(`${CLUSTERS_PATH}?${'a=1&'.repeat(3_000)}`), 200),
  row('an Accept of 2,500 types', get(CLUSTERS_PATH, { Accept: 'a/b,'.repeat(2_500) }), 406),
];
