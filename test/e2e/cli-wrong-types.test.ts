import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLUSTERPASS_ANSWER, wrongTypeIn } from '../../src/client/answer-types.ts';
import { Person } from './support/cli.ts';

/** Commands that read, at a server that sends one field of its answers with another type. */

const TIME = '2030-01-01T00:00:00Z';
const ID = 'a0000000-0000-4000-8000-000000000000';
const via = { binding: { kind: 'RoleBinding', namespace: 'ci', name: 'b' }, role: { kind: 'Role', name: 'r' } };
const user = { username: 'jane', uid: '1', groups: ['dev'], extra: { team: ['a'] }, actors: ['joe'] };
const metadata = {
  name: 'alpha',
  namespace: 'ci',
  uid: ID,
  creationTimestamp: TIME,
  labels: { env: 'dev' },
  annotations: { 'clusterpass.dev/issuer': 'https://127.0.0.1:1/orchestrator/alpha', note: 'x' },
};
const condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Fine',
  message: 'fine',
  lastTransitionTime: TIME,
  lastHeartbeatTime: TIME,
};
const endpoints = {
  serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://127.0.0.1:1' }],
  caBundle: 'YQ==',
};
const of = (spec: object, status: object = {}) => ({ apiVersion: 'v1', kind: 'Object', metadata, spec, status });
const cluster = of(
  { orchestratorApiEndpoints: endpoints, confirmedEndpoints: endpoints },
  { type: 'EKS', version: 'v1.36.4', conditions: [condition] },
);
const account = { namespace: 'ci', name: 'builder' };
const bindingRef = { kind: 'RoleBinding', namespace: 'ci', name: 'b' };
const request = of(
  { cluster: 'alpha', reason: 'on call', durationSeconds: 60, serviceAccount: account, requestedBy: user },
  {
    phase: 'Pending',
    conditions: [condition],
    expirationTimestamp: TIME,
    decidedBy: user,
    withdrawnBy: user,
    bindingRef,
  },
);
const pass = {
  ...of(
    {
      cluster: 'alpha',
      purpose: 'read the logs',
      durationSeconds: 60,
      serviceAccount: account,
      audiences: ['vault'],
      requestedBy: user,
      client: { id: 'login', name: 'x' },
    },
    {
      phase: 'Ready',
      approval: 'review',
      decidedBy: user,
      bindingRef,
      tokens: [{ id: ID, expirationTimestamp: TIME }],
    },
  ),
  metadata: { name: `pass_${'x'.repeat(43)}` },
};
const token = of({
  cluster: 'alpha',
  serviceAccount: account,
  user: { username: 'jane' },
  audiences: ['https://127.0.0.1:1/orchestrator/alpha'],
  boundObjectRef: { kind: 'Pod', name: 'x', uid: ID },
  requestedBy: user,
  issuedTimestamp: TIME,
  expirationTimestamp: TIME,
});
const key = of({}, { state: 'Current', algorithm: 'ES256', created: TIME, signsFrom: TIME, expires: TIME });

const listOf = (item: object) => ({ metadata: { resourceVersion: '1', continue: '' }, items: [item] });
const statusOf = (status: object) => ({ metadata: {}, status });
const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['x'] };
const reached = { name: 'alpha', visible: true, ...via, userpass: via, accounts: [{ ...account, ...via }] };
const KINDS = { clusters: cluster, accessrequests: request, passes: pass, issuedtokens: token, signingkeys: key };

/** By method and path. */
const SAMPLES: readonly (readonly [RegExp, unknown])[] = [
  [/^POST \/auth\/v1\/passes /, { items: [{ cluster: 'alpha', error: { message: 'no', reason: 'Forbidden' } }] }],
  [/selfsubjectreviews /, statusOf({ userInfo: user })],
  [/rulesreviews /, statusOf({ resourceRules: [rule], nonResourceRules: [{ nonResourceURLs: ['/x'] }] })],
  [/subjectaccessreviews /, statusOf({ allowed: true, reason: 'allowed', evaluationError: 'none' })],
  [/resourceaccessreviews /, statusOf({ subjects: [{ kind: 'User', name: 'jane', ...via }], evaluationError: 'x' })],
  [/subjectreachreviews /, statusOf({ clusters: [reached] })],
  [/\/accounts /, { items: [account], incomplete: true }],
  [/\/version /, { gitVersion: 'v1' }],
  [/\/token /, statusOf({ token: 'x', expirationTimestamp: TIME })],
  ...Object.entries(KINDS).flatMap(([resource, object]): [RegExp, unknown][] => [
    [new RegExp(`^GET .*/${resource}[? ]`), listOf(object)],
    [new RegExp(`/${resource}[/ ]`), object],
  ]),
];
const sampleOf = (line: string): unknown => SAMPLES.find(([pattern]) => pattern.test(line))?.[1] ?? {};

let asked = new Set<string>();
let answer: (request: string) => unknown = sampleOf;
const server = createServer((request, response) => {
  const line = `${request.method} ${request.url} `;
  asked.add(line);
  request.resume().on('end', () => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer(line)));
  });
});
let url: string;
let person: Person;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  person = await Person.at({ CLUSTERPASS_SERVER: url, CLUSTERPASS_TOKEN: 'x' });
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await person.leave();
});

const COMMANDS: readonly string[] = [
  'get clusters -o wide',
  'get clusters alpha',
  'describe cluster alpha',
  'whoami',
  'version',
  'auth can-i get clusters',
  'auth can-i --list',
  'auth why get clusters',
  'auth reach jane',
  'who-can get clusters',
  'keys list',
  'token list',
  `token revoke ${ID}`,
  'request list',
  'request show alpha',
  'request approve alpha',
  'pass list',
  'pass show alpha',
  'pass request --cluster alpha --account ci/x --purpose logs',
  'trust alpha',
  'create token builder -n ci --cluster alpha',
  'kubeconfig --as ci/builder',
  'exec --as ci/builder -l env=dev -- true',
];

const WRONG: readonly unknown[] = [5, {}, null];
const STACK = /^ {4}at /m;

type Path = readonly (string | number)[];

/** The paths of all fields of a JSON value; of a list, those of its first element. */
function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, field] of Object.entries(value)) yield* pathsIn(field, [...path, key]);
}

function withField(value: unknown, [key, ...rest]: Path, wrong: unknown): unknown {
  if (key === undefined) return wrong;
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = withField(copy[key], rest, wrong);
  return copy;
}

it.each(COMMANDS)('clusterpass %s', async (line) => {
  const command = line.split(' ');
  asked = new Set();
  answer = sampleOf;
  expect((await person.run(command)).stderr).not.toMatch(STACK);
  for (const sent of [...asked]) {
    for (const path of pathsIn(sampleOf(sent))) {
      for (const wrong of WRONG) {
        const value = withField(sampleOf(sent), path, wrong);
        // All commands refuse these: the next test.
        if (wrongTypeIn(structuredClone(value), CLUSTERPASS_ANSWER) !== undefined) continue;
        answer = (each) => (each === sent ? value : sampleOf(each));
        const { stderr } = await person.run(command);
        expect(stderr, `${sent}${path.join('.')} = ${JSON.stringify(wrong)}`).not.toMatch(STACK);
      }
    }
  }
});

it.each<[string, unknown, string]>([
  ['keys list', 5, 'an answer as a number, not an object'],
  ['keys list', { metadata: {}, items: 5 }, 'items as a number, not a list'],
  ['keys list', { metadata: 'x', items: [] }, 'metadata as a string, not an object'],
  ['keys list', { kind: 'Status', metadata: {}, items: 5 }, 'items as a number, not a list'],
  ['keys list', { items: [] }, 'an answer without metadata'],
  ['keys list', { metadata: {} }, 'an answer without items'],
  ['keys list', listOf({}), 'items[0] without metadata.name'],
  ['request show alpha', {}, 'an answer without metadata'],
  ['request show alpha', { metadata: {} }, 'an answer without metadata.name'],
  ['get clusters', listOf({ metadata, status: [] }), 'items[0].status as a list, not an object'],
  [
    'get clusters',
    listOf({ metadata: { ...metadata, labels: { a: {} } } }),
    'items[0].metadata.labels.a as an object, not a string',
  ],
  ['whoami', statusOf({ userInfo: { groups: ['a', null] } }), 'status.userInfo.groups[1] as null, not a string'],
])('clusterpass %s names the server and the field of %j', async (line, value, problem) => {
  answer = () => value;
  const stderr = await person.fails(line.split(' '));
  expect(stderr).toBe(`Unable to connect to the server: ${url} sent ${problem}\n`);
});
