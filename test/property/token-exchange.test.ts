import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import { createObjects, issue, tokenPath } from '../e2e/support/objects.ts';
import { CLUSTERS } from '../e2e/support/paths.ts';
import { type Grant, grant, may, REGISTRY_GROUP } from '../e2e/support/rbac.ts';
import { type Answer, tokenOf } from '../e2e/support/server.ts';
import { sharedServer } from '../e2e/support/shared-server.ts';

/**
 * A token exchange and a request of the API agree on who may get what, for random permissions and requests: a token of
 * an account, or a pass for a person.
 */

const server = sharedServer();
/** By name: people, passes of accounts, and what is no credential. */
let subjects: Readonly<Record<string, string>>;

beforeAll(async () => {
  await createObjects(server);
  subjects = {
    admin: server.adminToken,
    kate: tokenOf('kate'),
    carl: tokenOf('carl'),
    'pass of alpha': await issue(server),
    'pass of beta': await issue(server, tokenPath('builder', 'ci', 'beta')),
    'pass for vault': await issue(server, tokenPath(), { audiences: ['vault'] }),
    stranger: 'no-token-of-anyone',
  };
});

const CALLERS = ['admin', 'kate', 'carl', 'pass of alpha', 'pass of beta', 'pass for vault', 'stranger'];

const grants: fc.Arbitrary<Grant[]> = fc.array(
  fc.record({
    to: fc.constantFrom(
      'kate',
      'carl',
      { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' },
      'system:serviceaccount:ci:builder',
      'system:cluster:beta:serviceaccount:ci:builder',
    ),
    rules: fc.oneof(
      fc
        .record({ verb: fc.constantFrom('create', 'get', '*'), names: fc.subarray(['builder', 'other', 'absent']) })
        .map(({ verb, names }) => [may(verb, 'serviceaccounts/token', '', names)]),
      fc
        .record({
          verb: fc.constantFrom('create', 'get', '*'),
          resource: fc.constantFrom('clusters', 'clusters/userpass'),
          names: fc.subarray(['alpha', 'absent']),
        })
        .map(({ verb, resource, names }) => [may(verb, resource, REGISTRY_GROUP, names)]),
    ),
    ...{ clusters: fc.constantFrom('env=prod', 'env=dev', 'env in (prod,dev)') },
  }),
  { minLength: 1, maxLength: 3 },
);

const questions = fc.array(
  fc.record({
    caller: fc.constantFrom(...CALLERS),
    isForPerson: fc.boolean(),
    cluster: fc.constantFrom('alpha', 'beta', 'absent'),
    namespace: fc.constantFrom('ci', 'shop', 'absent'),
    name: fc.constantFrom('builder', 'other', 'absent'),
    audiences: fc.subarray(['vault', 'alpha', 'beta', 'absent', 'alpha/people', 'x'.repeat(1025)]),
    seconds: fc.constantFrom(undefined, 0, 599, 600, 7200, 86_401, 2 ** 32 + 1),
    dryRun: fc.constantFrom('', '?dryRun=All', '?dryRun=Some'),
  }),
  { minLength: 1, maxLength: 6 },
);

type Question = Parameters<Parameters<typeof questions.map>[0]>[0][number];

/** Names of clusters stand for their audiences. */
const audiencesOf = ({ audiences }: Question): string[] =>
  audiences.map((name) => (/^(alpha|beta|absent)/.test(name) ? `${server.url}/orchestrator/${name}` : name));

const byTokenRequest = (question: Question): Promise<Answer> => {
  const { caller, isForPerson, cluster, namespace, name, seconds, dryRun } = question;
  const path = isForPerson ? `${CLUSTERS}/${cluster}/userpass` : tokenPath(name, namespace, cluster);
  return server.call('POST', `${path}${dryRun}`, {
    token: subjects[caller] ?? '',
    body: {
      spec: { audiences: audiencesOf(question), ...(seconds === undefined ? {} : { expirationSeconds: seconds }) },
    },
  });
};

const subjectOf = ({ isForPerson, namespace, name }: Question): string =>
  isForPerson ? 'userpass' : `serviceaccount:${namespace}:${name}`;

const byExchange = (question: Question): Promise<Answer> => {
  const { caller, cluster, seconds, dryRun } = question;
  const audiences = audiencesOf(question).map((audience) => `aud:${audience}`);
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subjects[caller] ?? '',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    audience: cluster,
    scope: [subjectOf(question), ...audiences].join(' '),
    ...(seconds === undefined ? {} : { expiration_seconds: String(seconds) }),
  });
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return server.call('POST', `/oauth/token${dryRun}`, { token: null, body: form.toString(), headers });
};

/** What an answer of the API is as an answer of the token endpoint. */
const OAUTH: Readonly<Record<number, readonly string[]>> = {
  401: ['invalid_request'],
  403: ['invalid_target'],
  404: ['invalid_target'],
  422: ['invalid_scope', 'invalid_request'],
};

/** Without an account, the subject asked for a scope that it may not have. */
const OF_PERSON: typeof OAUTH = { 403: ['invalid_scope'], 404: ['invalid_scope'] };

it('for every caller, target, audience and lifetime', async () => {
  await fc.assert(
    fc.asyncProperty(grants, questions, async (granted, asked) => {
      const takeBack: (() => Promise<void>)[] = [];
      for (const one of granted) takeBack.push(await grant(server, one));
      for (const question of asked) {
        const [api, oauth] = [await byTokenRequest(question), await byExchange(question)];
        if (api.code === 201) {
          const { audiences, expirationSeconds } = api.json.spec;
          const scope = [subjectOf(question), ...audiences.map((one: string) => `aud:${one}`)];
          expect([oauth.code, oauth.json.expires_in, oauth.json.scope]).toEqual([
            200,
            expirationSeconds,
            scope.join(' '),
          ]);
          expect(oauth.json.access_token === '').toBe(api.json.status.token === '');
        } else {
          expect(oauth.code, `${api.text} ${oauth.text}`).toBe(400);
          const expected = question.isForPerson ? { ...OAUTH, ...OF_PERSON } : OAUTH;
          expect(expected[api.code], api.text).toContain(oauth.json.error);
        }
        expect(oauth.warnings).toEqual(api.warnings);
      }
      for (const undo of takeBack) await undo();
    }),
    propertyRuns(12, 250),
  );
});
