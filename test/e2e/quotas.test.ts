import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { addCluster, grantAllClusters, PUBLIC_LIST, revisionNow, touch } from './support/fleet.ts';
import { ASK, asUser, create, createObjects, MAY_CREATE_TOKENS, tokenPath } from './support/objects.ts';
import { RBAC } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import { type Answer, type Server, startServer, tokenOf } from './support/server.ts';
import { drain, NOTE_BYTES, stalledWatch, WRITES } from './support/stalled-watch.ts';
import { Watch } from './support/watch.ts';

/** D6, D7: what one caller may take of what is stored, or kept for ever; FA-3: of watches and of memory. */

const GROUP = 'clusterpass.dev';
const API = `/apis/${GROUP}/v1alpha1`;
const MOST = 3;

const OPTIONS = {
  tokens: '--max-tokens-per-minute-per-caller',
  trackedTokens: '--max-tracked-tokens-per-caller',
  revocations: '--max-revocations-per-caller',
  bootstrapTokens: '--max-bootstrap-tokens-per-caller',
  accessRequests: '--max-access-requests-per-caller',
  passes: '--pass-max-handles',
  pendingPasses: '--pass-max-pending',
};

let server: Server;

const object = (kind: string, name: string, spec: object): object => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: name === '' ? {} : { name },
  spec,
});
const nameOf = (user: string, index: number): string => `${user}-${index}`.toLowerCase();
const account = { cluster: 'alpha', serviceAccount: { namespace: 'ci', name: 'builder' } };
const tracked = { ...ASK, metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } } };

/** A request that counts; the number makes it another one than before. */
const REQUESTS: Record<keyof typeof OPTIONS, (user: string, index: number) => Promise<Answer>> = {
  tokens: (user) => server.call('POST', tokenPath(), { ...asUser(user), body: ASK }),
  trackedTokens: (user) => server.call('POST', tokenPath(), { ...asUser(user), body: tracked }),
  revocations: (user) => server.call('DELETE', `${API}/issuedtokens/${randomUUID()}`, asUser(user)),
  bootstrapTokens: (user, index) => {
    const tokenDigest = `sha256:${createHash('sha256').update(`${user} ${index}`).digest('hex')}`;
    const body = object('BootstrapToken', nameOf(user, index), { tokenDigest, namePattern: 'edge-*' });
    return server.call('POST', `${API}/bootstraptokens`, { ...asUser(user), body });
  },
  accessRequests: (user, index) => {
    const body = object('AccessRequest', nameOf(user, index), { ...account, reason: `reason ${index}` });
    return server.call('POST', `${API}/accessrequests`, { ...asUser(user), body });
  },
  passes: (user, index) => {
    const body = object('Pass', '', { ...account, purpose: `purpose ${index}` });
    return server.call('POST', `${API}/passes`, { ...asUser(user), body });
  },
  pendingPasses: (user, index) => {
    const client = { name: 'agent' };
    const body = object('Pass', '', { ...account, purpose: `purpose ${index}`, client });
    return server.call('POST', `${API}/passes`, { ...asUser(user), body });
  },
};

const NAMES = Object.keys(OPTIONS) as (keyof typeof OPTIONS)[];
const USERS = NAMES.flatMap((name) => [`first-${name}`, `second-${name}`]);

/** Of tokens there are more, so that other quotas are reached. */
const mostOf = (name: keyof typeof OPTIONS): number => ({ tokens: 8, passes: 5 })[name as string] ?? MOST;

beforeAll(async () => {
  const args = NAMES.flatMap((name) => [OPTIONS[name], String(mostOf(name))]);
  args.push('--max-request-memory-per-caller', '4', '--max-watches-per-caller', '40');
  const users = [...USERS, 'lister', 'greedy', 'other'];
  server = await startServer({ users: Object.fromEntries(users.map((name) => [name, []])), args });
  await createObjects(server);
  const rules = [
    MAY_CREATE_TOKENS,
    may('delete', 'issuedtokens', GROUP),
    may('create', 'bootstraptokens', GROUP),
    may('create', 'accessrequests', GROUP),
    may('create', 'clusters', 'clusterregistry.k8s.io'),
  ];
  await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'everything' }, rules });
  const fields = { agents: 'Allow', approval: { by: 'Requester' } };
  const binding = fleetBinding({ name: 'everything', to: [...USERS, 'lister'], role: 'everything', fields });
  await create(server, FLEET_BINDINGS, binding);
});
afterAll(() => server.destroy());

const codesOf = (answers: readonly Answer[]): number[] => answers.map(({ code }) => code);

describe.each(NAMES)('the quota %s', (name) => {
  it('is refused with 429, its name and its option, and counts for each caller by itself', async () => {
    const send = (user: string, index: number): Promise<Answer> => REQUESTS[name](`${user}-${name}`, index);
    const most = mostOf(name);
    const answers: Answer[] = [];
    for (let index = 0; index < most; index++) answers.push(await send('first', index));
    expect(
      codesOf(answers).every((code) => code < 300),
      answers.map(({ text }) => text).join(),
    ).toBe(true);
    const refused = await send('first', most);
    expect([refused.code, refused.json.reason], refused.text).toEqual([429, 'TooManyRequests']);
    expect(refused.json.message).toContain(`(quota ${name}, set by ${OPTIONS[name]})`);
    expect(refused.json.details.causes[0]).toEqual({ reason: 'QuotaExceeded', message: name, field: OPTIONS[name] });
    // Where there is no room within a minute, a client that repeats the request would only keep its user waiting.
    const { retryAfterSeconds } = refused.json.details;
    expect(refused.headers.get('retry-after')).toBe(retryAfterSeconds?.toString() ?? null);
    if (name === 'tokens') expect(retryAfterSeconds).toBeGreaterThan(0);
    expect((await send('second', 0)).code).toBeLessThan(300);
  });
});

it('the accounts of one cluster share their tokens a minute, and a list counts its items', async () => {
  await grant(server, { to: 'system:serviceaccount:ci:builder', rules: [MAY_CREATE_TOKENS] });
  await grant(server, { to: 'system:serviceaccount:ci:deployer', rules: [MAY_CREATE_TOKENS] });
  const items = Array.from({ length: 10 }, () => ({ cluster: 'alpha', namespace: 'ci', serviceAccount: 'builder' }));
  const list = await server.call('POST', '/auth/v1/passes', { ...asUser('lister'), body: { items } });
  const passes = list.json.items as { token?: string; error?: { code: number } }[];
  expect(passes.map(({ error }) => error?.code)).toEqual([...Array(8).fill(undefined), 429, 429]);
  const [{ token = '' } = {}] = passes;
  const by = async (): Promise<number> => (await server.call('POST', tokenPath(), { token, body: ASK })).code;
  const codes: number[] = [];
  for (let count = 0; count < 9; count++) codes.push(await by());
  expect(codes).toEqual([...Array(8).fill(201), 429]);
});

it('administrators always revoke', async () => {
  for (let count = 0; count < 2 * MOST; count++) {
    expect((await server.call('DELETE', `${API}/issuedtokens/${randomUUID()}`)).code).toBe(200);
  }
});

describe('FA-3: limits of one caller', () => {
  beforeAll(async () => {
    await addCluster(server, 'a');
    for (const user of ['greedy', 'other']) await grantAllClusters(server, `sees-${user}`, user);
  });

  it('watches of a caller that does not read end with 410; those of another caller go on', async () => {
    const start = await revisionNow(server);
    const path = `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`;
    const stalled = Array.from({ length: 40 }, () => stalledWatch(server, path, tokenOf('greedy')));
    const metrics = async (): Promise<string> => (await server.call('GET', '/metrics')).text;
    await expect
      .poll(metrics)
      .toContain('apiserver_flowcontrol_current_executing_requests{priority_level="watches"} 40');
    expect((await server.call('GET', path, { token: tokenOf('greedy') })).json.message).toBe(
      'too many requests at once (watches), please try again later',
    );
    const good = await Watch.open(server, path, tokenOf('other'));
    const reading = good.take(WRITES);
    const versions: number[] = [];
    for (let count = 0; count < WRITES; count++) {
      versions.push(await touch(server, 'a', String(count % 10).repeat(NOTE_BYTES)));
    }
    expect((await reading).map(({ object }) => Number(object.metadata.resourceVersion))).toEqual(versions);
    // Not all of them: the others are below the limit, and go on.
    const drained = stalled.map(async (socket) => {
      const { ended, tail } = await drain(socket);
      if (!ended || !tail.includes('"code":410')) throw new Error(tail);
    });
    await Promise.any(drained);
    for (const socket of stalled) socket.destroy();
    await Promise.allSettled(drained);
    const ended = /^clusterpass_request_memory_ended_watches_total (\d+)$/m.exec(await metrics())?.[1];
    expect(Number(ended)).toBeGreaterThan(0);
    good.close();
    await expect.poll(metrics).toContain('\nclusterpass_request_memory_bytes 0\n');
  });
});
