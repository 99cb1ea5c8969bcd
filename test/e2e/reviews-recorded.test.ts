import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { asUser, create, createAccount, createCluster, createNamespace } from './support/objects.ts';
import { RBAC, RBAC_GROUP } from './support/paths.ts';
import { group, may, user } from './support/rbac.ts';
import { sharedServer } from './support/shared-server.ts';

/** Replays requests that were sent to kube-apiserver, and compares the responses. */

interface RecordedCase {
  readonly id: string;
  readonly title: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly token: string;
    readonly headers?: Readonly<Record<string, string | string[]>>;
    readonly body?: object;
  };
  readonly answer: RecordedAnswer;
}

interface RecordedAnswer {
  readonly code: number;
  readonly warning?: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly body: any;
}

/**
 * Answers of kube-apiserver 1.36.4. The administrator is in system:masters; alice may impersonate carol, the group
 * viewers, the account rv/bot, extra scopes and uid u-1, and create subjectaccessreviews; in namespace rv alice and the
 * group devs2 may create tokens of builder; carol, the group viewers and the account rv/bot may get and list
 * namespaces.
 */
const CASES = readFileSync(new URL('../fixtures/reviews-cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedCase);

const server = sharedServer();

const role = (name: string, rules: object[]) => create(server, `${RBAC}/clusterroles`, { metadata: { name }, rules });
const roleRef = (name: string) => ({ apiGroup: RBAC_GROUP, kind: 'ClusterRole', name });
const bindIn = (namespace: string, name: string, subject: object, roleName: string) =>
  create(server, `${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata: { name },
    subjects: [subject],
    roleRef: roleRef(roleName),
  });
const bindEverywhere = (name: string, subjects: object[], roleName = name) =>
  create(server, `${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef: roleRef(roleName) });

beforeAll(async () => {
  await createCluster(server, 'alpha');
  await createNamespace(server, 'rv');
  await createAccount(server, 'bot', 'rv');
  await role('rv-tok', [may('create', 'serviceaccounts/token', '', ['builder'])]);
  await bindIn('rv', 'rv-alice', user('alice'), 'rv-tok');
  await bindIn('rv', 'rv-devs', group('devs2'), 'rv-tok');
  await role('rv-view', [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['namespaces'] }]);
  const bot = { kind: 'ServiceAccount', namespace: 'rv', name: 'bot' };
  await bindEverywhere('rv-view', [user('carol'), group('viewers'), bot]);
  const impersonate = (resource: string, name: string, apiGroup = '') => may('impersonate', resource, apiGroup, [name]);
  await role('rv-impersonate', [
    impersonate('users', 'carol'),
    impersonate('groups', 'viewers'),
    impersonate('serviceaccounts', 'bot'),
    impersonate('uids', 'u-1', 'authentication.k8s.io'),
    may('impersonate', 'userextras/scopes', 'authentication.k8s.io'),
    may('create', 'subjectaccessreviews', 'authorization.k8s.io'),
  ]);
  await bindEverywhere('rv-impersonate', [user('alice')]);
});

const MANAGED_FIELDS = /,\\"managedFields\\":\[.*?\]\}/g;

/** Responses that differ from the recording, with the reason. */
const DIFFERENCES: Readonly<Record<string, (recorded: RecordedAnswer) => RecordedAnswer>> = {
  // A review that is sent has no managed fields.
  'SAR-12': (recorded) => JSON.parse(JSON.stringify(recorded).replaceAll(MANAGED_FIELDS, '}')),
  // D-07: the rest of the text names Go's internals.
  'SAR-20': (recorded) => ({
    ...recorded,
    body: {
      ...recorded.body,
      message:
        'SelfSubjectAccessReview in version "v1" cannot be handled as a SubjectAccessReview: no kind "SelfSubjectAccessReview" is registered for version "authorization.k8s.io/v1"',
    },
  }),
};

const PREFIX = '/orchestrator/alpha';

async function replay({ request: { method, path, token, headers = {}, body } }: RecordedCase, prefix: string) {
  const credential = token === 'admin-token' ? server.adminToken : asUser(token.replace('-token', '')).token;
  return new Promise<RecordedAnswer>((resolve, reject) => {
    const sent = request(`${server.url}${prefix}${path}`, {
      method,
      headers: {
        'User-Agent': 'case',
        Authorization: `Bearer ${credential}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
    });
    sent.on('error', reject);
    sent.on('response', async (response) => {
      const { warning } = response.headers;
      const code = response.statusCode ?? 0;
      resolve({ code, ...(warning === undefined ? {} : { warning }), body: masked(await json(response)) });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The recording has placeholders for values that differ in each run. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
function masked(body: any): unknown {
  for (const name of ['uid', 'resourceVersion', 'creationTimestamp']) {
    if (body.metadata?.[name] !== undefined) body.metadata[name] = `<${name}>`;
  }
  return body;
}

/** As text: the order of the members counts, too. */
const textOf = (answer: RecordedAnswer): string => JSON.stringify(answer, null, 2);

const starting = (family: string) => CASES.filter(({ id }) => id.startsWith(`${family}-`));

function expected({ id, answer }: RecordedCase): RecordedAnswer {
  if (answer.body.kind !== 'Namespace') return DIFFERENCES[id]?.(answer) ?? answer;
  // A namespace has no label of its name and no finalizers here.
  const { kind, apiVersion, metadata, status } = answer.body;
  const { labels: _, ...own } = metadata;
  return { ...answer, body: { kind, apiVersion, metadata: own, status } };
}

describe('SAR-01..SAR-20, LSAR-01..LSAR-05: reviews of other users', () => {
  it.each([...starting('SAR'), ...starting('LSAR')])('$id: $title', async (recorded) => {
    for (const prefix of ['', PREFIX]) {
      expect(textOf(await replay(recorded, prefix))).toBe(textOf(expected(recorded)));
    }
  });
});

describe('IMP-01..IMP-20: impersonation', () => {
  it.each(starting('IMP'))('$id: $title', async (recorded) => {
    // The fleet itself has no namespaces.
    const prefixes = recorded.request.path.startsWith('/api/v1/namespaces') ? [PREFIX] : ['', PREFIX];
    for (const prefix of prefixes) {
      expect(textOf(await replay(recorded, prefix))).toBe(textOf(expected(recorded)));
    }
  });
});
