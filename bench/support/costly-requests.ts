import type { Call } from './client.ts';
import { accountsPath, BINDINGS_PATH, CLUSTERS_PATH, tokenPath } from './objects.ts';

/**
 * Requests that are costly to parse or to evaluate, at the largest size that is accepted or just beyond it. Each has
 * blocked the event loop of this server or of another API server before. The id is that of the test that checks the
 * response. They are sent to a server with `--demo`. What is refused before it costs anything is
 * in test/e2e/attack-event-loop.test.ts, and test/fuzz/faults.test.ts holds the parsers to the same limit.
 */
export interface CostlyRequest extends Call {
  readonly method: string;
  readonly path: string;
}

export interface CostlyRow {
  readonly name: string;
  readonly request: CostlyRequest;
  /** The status codes that are right; 0 is a closed connection. */
  readonly codes: readonly number[];
  /** Sent first and not measured. */
  readonly before?: readonly CostlyRequest[];
}

/** A caller that may write roles and holds nothing else, until a row binds more to it. */
export const GRANTER = { name: 'granter', token: 'token-of-granter-0123456789' };

const CLUSTERS = CLUSTERS_PATH;
const ACCOUNTS = accountsPath('prod-eu-1', 'ci');
const TOKEN = tokenPath('prod-eu-1', 'ci', 'builder');
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const REVIEWS = '/apis/authorization.k8s.io/v1';
/** The largest body that the server accepts. */
const LIMIT = 3_145_728;
const AS_YAML = { Accept: 'application/yaml' };

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const labelled = (count: number, make: (index: number) => [string, string]): object =>
  Object.fromEntries(times(count, make));
const filled = (piece: string, room = LIMIT - 64): string => piece.repeat(Math.floor(room / piece.length));
const audience = (inside: string): string => `{"spec":{"audiences":["${inside}"]}}`;

const row = (name: string, request: CostlyRequest, ...codes: number[]): CostlyRow => ({ name, request, codes });
const after = (before: readonly CostlyRequest[], rows: readonly CostlyRow[]): CostlyRow[] =>
  rows.map((each) => ({ ...each, before }));
const post = (path: string, body: object, more: Partial<CostlyRequest> = {}): CostlyRequest => ({
  ...{ method: 'POST', path, body },
  ...more,
});
const get = (path: string, headers: Readonly<Record<string, string>> = {}): CostlyRequest => ({
  ...{ method: 'GET', path, headers },
});
const patch = (format: 'strategic-merge' | 'merge' | 'json', value: object): CostlyRequest => ({
  ...post(`${ACCOUNTS}/many?dryRun=All`, value),
  ...{ method: 'PATCH', type: `application/${format}-patch+json` },
});
/** A body that is sent as a token request. Every kind of object is parsed by the same code. */
const body = (name: string, text: string, ...codes: number[]): CostlyRow =>
  row(name, { method: 'POST', path: TOKEN, body: text }, ...codes);
const bodies: readonly CostlyRow[] = [
  body('A19: 3 MiB of one string in escapes', audience(filled('\\u0041')), 400),
  body('A19: 1 MiB of one string in quotes', audience(filled('\\"', 1_048_576)), 422),
  body(
    'A19: 4,900 audiences of 300 quotes',
    JSON.stringify({ spec: { audiences: times(4_900, (i) => `${i}`.padEnd(300, '"')) } }),
    400,
  ),
  body('C-B: 9,900 unknown fields', `{${times(9_900, (i) => `"k${i}":1`).join(',')}}`, 422),
];

const role = (name: string, rules: object[]) => ({ metadata: { name }, rules });
const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });
const granter = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: GRANTER.name };
const asGranter = { token: GRANTER.token };

/** Gives the granter the right to write roles, and 20 roles with many rules. */
function holding(rulesOf: (role: number) => object[]): CostlyRequest[] {
  const mayGrant = [{ verbs: ['create'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] }];
  const roles = [role('may-grant', mayGrant), ...times(20, (i) => role(`held-${i}`, rulesOf(i)))];
  return roles.flatMap((each) => [
    post(ROLES, each),
    post(BINDINGS_PATH, { metadata: each.metadata, subjects: [granter], roleRef: roleRef(each.metadata.name) }),
  ]);
}

const resources = (...all: string[]) => ({ verbs: ['get'], apiGroups: [''], resources: all });
const paths = (nonResourceURLs: string[]) => ({ verbs: ['get'], nonResourceURLs });
const grant = (name: string, ...wanted: object[]): CostlyRow =>
  row(`A19: a role of ${name}`, post(`${ROLES}?dryRun=All`, role('wanted', wanted), asGranter), 403);
const names = (count: number, prefix: string): string[] => times(count, (i) => `${prefix}${i}`);
const rules = (count: number, prefix: string): object[] => names(count, prefix).map((name) => resources(name));

const product = { verbs: names(95, 'v'), apiGroups: names(95, 'g'), resources: names(95, 'r') };
const ownRules = post(`${REVIEWS}/selfsubjectrulesreviews`, { spec: { namespace: 'ci' } }, asGranter);

const grants: readonly CostlyRow[] = [
  ...after(
    holding((n) => rules(1_000, `r-${n}-`)),
    [
      grant('1,000 rules, written by who holds 20,000', ...rules(1_000, 'w-')),
      row('A19: who holds 20,000 rules asks which', ownRules, 201),
    ],
  ),
  ...after(
    holding((n) => [resources(...names(4_900, `r-${n}-`))]),
    [
      grant('4,900 resources, written by who holds 98,000', resources(...names(4_900, 'w-'))),
      grant('95 x 95 x 95 parts', product),
    ],
  ),
  ...after(
    holding((n) => [paths(names(4_900, `/r/${n}/`).map((path) => `${path}*`))]),
    [grant('4,900 paths, written by who holds 98,000', paths(names(4_900, '/w/')))],
  ),
];

const secrets = (count: number, reversed = false) =>
  times(count, (i) => ({ name: `s${reversed ? count - 1 - i : i}` }));
const anAccount = (metadata: object, more: object = {}): CostlyRequest =>
  post(ACCOUNTS, { metadata: { name: 'x', ...metadata }, ...more });
const manySubjects = { roleRef: roleRef('view'), subjects: times(2_400, (i) => ({ ...granter, name: `u${i}` })) };

const writes: readonly CostlyRow[] = [
  row('A19: 1,000 labels, each wrong', anAccount({ labels: labelled(1_000, (i) => [`!${i}`, '!']) }), 422),
  row('A19: a role of 1,000 rules', post(ROLES, role('x', rules(1_000, 'r'))), 201),
  row('A19: a binding of 2,400 subjects', post(BINDINGS_PATH, { metadata: { name: 'x' }, ...manySubjects }), 201),
];

const append = { op: 'copy', from: '/secrets', path: '/secrets/-' };
const check = { op: 'test', path: '/secrets/999/name', value: 's999' };
const inFront = times(3_300, (i) => ({ op: 'add', path: '/secrets/0', value: i }));

const patches: readonly CostlyRow[] = after(
  [post(ACCOUNTS, { metadata: { name: 'many' }, secrets: secrets(1_000) })],
  [
    row('A19: strategic merge of 1,000 secrets', patch('strategic-merge', { secrets: secrets(1_000, true) }), 200),
    row('A19: JSON patch of 3,300 elements put in front', patch('json', inFront), 400, 413, 422),
    row('A19: JSON patch that copies a list into itself', patch('json', Array(3_300).fill(append)), 400, 413, 422),
    row('A19: JSON patch of 3,300 tests', patch('json', Array(3_300).fill(check)), 200),
  ],
);

/** Of one manager: so many labels and annotations of an account, from this number on. */
const applied = (manager: string, from: number, count: number, value: string, more = ''): CostlyRequest => {
  const values = labelled(count, (i) => [`example.com/${from + i}`, value]);
  const metadata = { name: 'owned', labels: values, annotations: values };
  return {
    ...post(`${ACCOUNTS}/owned?fieldManager=${manager}${more}`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }),
    ...{ method: 'PATCH', type: 'application/apply-patch+yaml' },
  };
};
const applies: readonly CostlyRow[] = after(
  times(19, (i) => applied(`m${i}`, i * 50, 50, 'v')),
  [
    row('AP-61: an apply to all of 1,900 fields of 19 managers', applied('m0', 0, 950, 'w', '&force=true'), 200),
    row('AP-31: an apply with 1,800 conflicts', applied('m0', 0, 950, 'w'), 409),
  ],
);

const review = (more: object, headers = {}): CostlyRequest => {
  const resourceAttributes = { verb: 'get', ...more };
  return post(`${REVIEWS}/selfsubjectaccessreviews`, { spec: { resourceAttributes } }, { headers });
};
const selecting = (...requirements: object[]): object => ({ labelSelector: { requirements } });

const reviews: readonly CostlyRow[] = [
  row('A19: a review of 4,900 empty requirements, as YAML', review(selecting(...Array(4_900).fill({})), AS_YAML), 422),
  row('A19: a review of 3 MiB of name', review({ name: '\u{1f600}'.repeat(700_000) }), 422),
];

const notes = labelled(1_000, (i) => [`a.io/${i}`, `value ${i}`.padEnd(200)]);

const reads: readonly CostlyRow[] = [
  ...after(
    [post(ACCOUNTS, { metadata: { name: 'large', annotations: notes } })],
    [
      row('N-01: a large object as YAML', get(`${ACCOUNTS}/large`, AS_YAML), 200),
      row('F-13: a large object, indented', get(`${ACCOUNTS}/large?pretty=1`), 200),
    ],
  ),
  row('C-G: a selector of 2,500 conditions', get(`${CLUSTERS}?labelSelector=${'a!=b,'.repeat(2_500)}a`), 200, 400),
  row(
    'C-G: a field selector of 700 conditions',
    get(`${CLUSTERS}?fieldSelector=${'metadata.name!=b,'.repeat(700)}metadata.name!=c`),
    200,
    400,
  ),
  row('C-G: 3,000 parameters', get(`${CLUSTERS}?${'a=1&'.repeat(3_000)}`), 200),
  row('C-C: an Accept of 2,500 types', get(CLUSTERS, { Accept: 'a/b,'.repeat(2_500) }), 406),
];

export const costlyRows: readonly CostlyRow[] = [
  ...bodies,
  ...writes,
  ...patches,
  ...applies,
  ...reviews,
  ...grants,
  ...reads,
];
