import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import { claimsFor, type Forwarding, jwt, register, startForwarding, tokenAnswer } from './support/forwarding.ts';
import { createAccount, createCluster, createNamespace, inNamespace } from './support/objects.ts';
import type { Server } from './support/server.ts';

const authority = createAuthority('cluster CA');
const CREDENTIAL = ['credential', '--cluster', 'own', '--as', 'ci/builder'];

let forwarding: Forwarding;
let server: Server;
let person: Person;

beforeAll(async () => {
  forwarding = await startForwarding();
  ({ server } = forwarding);
  await createCluster(server, 'own');
  await createNamespace(server, 'ci', 'own');
  await createAccount(server, 'builder', 'ci', 'own');
  person = await Person.as(server);
});
afterAll(async () => {
  await person.leave();
  await forwarding.destroy();
});

/** As kubectl runs it: every run has this process as its parent, so each but the first is a retry. */
async function tokenOf(args: readonly string[] = CREDENTIAL, env: Record<string, string> = {}): Promise<string> {
  return JSON.parse(await person.ok(args, { env, inProcess: false })).status.token;
}

describe('A42: a cached token is not served when it is refused', () => {
  it('stays the same while it is accepted', async () => {
    const first = await tokenOf();
    expect(await tokenOf()).toBe(first);
  });

  it('when its account was created again', async () => {
    const first = await tokenOf();
    const account = `${inNamespace('serviceaccounts', 'ci', 'own')}/builder`;
    await server.call('DELETE', account);
    await createAccount(server, 'builder', 'ci', 'own');
    const second = await tokenOf();
    expect(second).not.toBe(first);
    expect(await tokenOf()).toBe(second);
  });

  it('when it was revoked by its id, or its key was', async () => {
    const first = await tokenOf();
    await person.ok(['token', 'revoke', decodeJwt(first).jti ?? '']);
    const second = await tokenOf();
    expect(second).not.toBe(first);
    const { kid } = JSON.parse(Buffer.from(second.split('.')[0] ?? '', 'base64url').toString());
    await person.ok(['keys', 'revoke', kid]);
    const third = await tokenOf();
    expect(third).not.toBe(second);
    expect(await tokenOf()).toBe(third);
  });

  it('when a login or --no-cache has replaced it', async () => {
    const first = await tokenOf();
    const second = await tokenOf([...CREDENTIAL, '--no-cache']);
    expect(second).not.toBe(first);
    expect(await tokenOf()).toBe(second);
    await person.ok(['login', '--server', server.url, '--token', server.adminToken]);
    expect(await tokenOf()).not.toBe(second);
  });

  it('when a cluster that issues its own tokens refuses it', async () => {
    const refused = new Set<string>();
    let issued = 0;
    const asked: string[] = [];
    const cluster: FakeApiServer = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), (seen) => {
      if (seen.method === 'POST') return tokenAnswer(jwt({ ...claimsFor(seen), jti: `token-${++issued}` }));
      const token = String(seen.headers.authorization).replace('Bearer ', '');
      asked.push(`${seen.path} ${decodeJwt(token).jti}`);
      return { status: refused.has(token) ? 401 : 200 };
    });
    try {
      await register(forwarding, { name: 'forwarded', port: cluster.port, ca: authority.cert }, 'the-credential');
      const args = ['credential', '--cluster', 'forwarded', '--as', 'ci/builder'];
      const KUBERNETES_EXEC_INFO = JSON.stringify({
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        spec: {
          interactive: false,
          cluster: {
            server: `https://127.0.0.1:${cluster.port}`,
            'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
          },
        },
      });
      const env = { KUBERNETES_EXEC_INFO };
      const get = () => tokenOf(args, env);
      await get();
      // Clusterpass does not know the tokens of this cluster, so the first check finds out who does.
      const second = await get();
      expect(await get()).toBe(second);
      expect(asked).toEqual(['/version token-2', '/version token-2']);
      refused.add(second);
      const third = await get();
      expect(decodeJwt(third).jti).toBe('token-3');
      expect(await get()).toBe(third);
    } finally {
      await cluster.close();
    }
  });
});
