import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectUnauthorized } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import {
  CLUSTERS,
  codeFor,
  createAccount,
  createCluster,
  createNamespace,
  createPod,
  createSecret,
  createWorld,
  inNamespace,
  issue,
  remove,
  tokenPath,
} from './support/token-world.ts';
import { Watch } from './support/watch.ts';

/** How long a token is accepted here: as long as everything it hangs on is there, and no moment longer (K-16 to K-24). */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(() => server.destroy());

/** Not only the list: whatever is asked, a token that is not accepted is the same 401. */
async function expectRefused(token: string): Promise<void> {
  expectUnauthorized(await server.call('GET', '/auth/v1/clusters', { token }));
  expectUnauthorized(await server.call('GET', `${CLUSTERS}/alpha`, { token }));
  expectUnauthorized(await server.call('POST', tokenPath(), { token, body: { spec: { audiences: [] } } }));
  expectUnauthorized(await server.call('GET', '/no/such/path', { token }));
}

interface Dependency {
  readonly token: () => Promise<string>;
  readonly remove: () => Promise<void>;
  /** Makes what was removed again, under the same names. */
  readonly again: () => Promise<unknown>;
}

const NAMESPACES = '/orchestrator/alpha/api/v1/namespaces';
const bound = (kind: string, name: string) => ({ audiences: [], boundObjectRef: { kind, name } });

const DEPENDENCIES: readonly (readonly [string, Dependency])[] = [
  [
    'K-16, K-17: the account',
    {
      token: async () => {
        await createAccount(server, 'brief');
        return issue(server, tokenPath('brief'));
      },
      remove: () => remove(server, inNamespace('serviceaccounts/brief')),
      again: () => createAccount(server, 'brief'),
    },
  ],
  [
    'K-18, K-19: the pod',
    {
      token: async () => {
        await createPod(server, 'brief', { serviceAccountName: 'builder' });
        return issue(server, tokenPath(), bound('Pod', 'brief'));
      },
      remove: () => remove(server, inNamespace('pods/brief')),
      again: () => createPod(server, 'brief', { serviceAccountName: 'builder' }),
    },
  ],
  [
    'K-18, K-19: the secret',
    {
      token: async () => {
        await createSecret(server, 'brief');
        return issue(server, tokenPath(), bound('Secret', 'brief'));
      },
      remove: () => remove(server, inNamespace('secrets/brief')),
      again: () => createSecret(server, 'brief'),
    },
  ],
  [
    'the namespace',
    {
      token: async () => {
        await createNamespace(server, 'brief');
        await createAccount(server, 'builder', 'brief');
        return issue(server, tokenPath('builder', 'brief'));
      },
      remove: () => remove(server, `${NAMESPACES}/brief`),
      again: async () => {
        await createNamespace(server, 'brief');
        await createAccount(server, 'builder', 'brief');
      },
    },
  ],
  [
    'the cluster',
    {
      token: async () => {
        await createCluster(server, 'brief');
        await createNamespace(server, 'ci', 'brief');
        await createAccount(server, 'builder', 'ci', 'brief');
        return issue(server, tokenPath('builder', 'ci', 'brief'));
      },
      remove: () => remove(server, `${CLUSTERS}/brief`),
      again: async () => {
        await createCluster(server, 'brief');
        await createNamespace(server, 'ci', 'brief');
        await createAccount(server, 'builder', 'ci', 'brief');
      },
    },
  ],
];

describe('what a token hangs on', () => {
  it.each(DEPENDENCIES)('%s: its deletion ends the token at once, and a namesake does not revive it', async (_, it) => {
    const token = await it.token();
    const other = await issue(server);
    // Used before, so that it sits in the cache of verified tokens (K-24).
    expect(await codeFor(server, token)).toBe(200);
    await it.remove();
    await expectRefused(token);
    await it.again();
    await expectRefused(token);
    expect(await codeFor(server, other), 'tokens of others are not touched').toBe(200);
  });

  it('K-21: the node of a bound pod need not exist', async () => {
    expect(await codeFor(server, await issue(server, tokenPath(), bound('Pod', 'web-0')))).toBe(200);
  });

  it('decision 13: an open watch ends with a 401 when the account goes', async () => {
    await createAccount(server, 'watcher');
    const watch = await Watch.open(server, '/auth/v1/clusters?watch=true', await issue(server, tokenPath('watcher')));
    expect(watch.code).toBe(200);
    await remove(server, inNamespace('serviceaccounts/watcher'));
    const events = await watch.rest();
    expect(events.at(-1)).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 401, reason: 'Unauthorized' },
    });
  });
});

describe('K-14, A3: audiences', () => {
  const cases = (issuer: string): [string[], number][] => [
    [[], 200],
    [[issuer], 200],
    [['vault', issuer], 200],
    [['vault'], 401],
    [[`${issuer}/`], 401],
    [[issuer.replace('alpha', 'beta')], 401],
    [[issuer.toUpperCase()], 401],
    [[new URL(issuer).origin], 401],
  ];

  it('a token made for somebody else is no way in here', async () => {
    for (const [audiences, code] of cases(`${server.url}/orchestrator/alpha`)) {
      expect(await codeFor(server, await issue(server, tokenPath(), { audiences })), String(audiences)).toBe(code);
    }
  });
});

describe('the server itself', () => {
  it('A5: a restart, asked for or not, keeps tokens valid and the revoked ones revoked', async () => {
    await createAccount(server, 'revoked');
    const revoked = await issue(server, tokenPath('revoked'));
    await remove(server, inNamespace('serviceaccounts/revoked'));
    const tokens = [await issue(server), await issue(server, tokenPath(), bound('Pod', 'web-0'))];
    for (const end of ['stop', 'kill'] as const) {
      await server[end]();
      server = await server.restart();
      for (const token of tokens) expect(await codeFor(server, token), end).toBe(200);
      expect(await codeFor(server, revoked), end).toBe(401);
    }
  });

  it('K-09: another base URL is another issuer', async () => {
    const token = await issue(server);
    await server.stop();
    const port = Number(new URL(server.url).port);
    const moved = await startServer({ dataDir: server.dataDir, port, args: ['--base-url', 'https://pass.example'] });
    // The program announces the public address; it is still reached at the old one.
    const answer = await fetch(`${server.url}/auth/v1/clusters`, { headers: { Authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
    await moved.stop();
    server = await server.restart();
    expect(await codeFor(server, token)).toBe(200);
  });
});
