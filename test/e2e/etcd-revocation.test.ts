import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, type EtcdMember, startEtcd } from '../conformance/etcd-process.ts';
import { addCluster, bindRole, PUBLIC_LIST, setRole } from './support/fleet.ts';
import { createAccount, createNamespace, issue } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { type Server, tokenOf } from './support/server.ts';

const SIGNING_KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
/** A list from memory: it waits for the store only if this replica may be behind. */
const FROM_MEMORY = `${PUBLIC_LIST}?resourceVersion=0`;
/** How often each replica is asked afterwards. */
const QUESTIONS = 10;

describeWithEtcd('B30: one member of etcd hangs while something is taken away', () => {
  let etcd: Etcd;
  let started: Replicas;
  let stopped: EtcdMember | undefined;
  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
    started = await startReplicas(etcd, { users: { jane: [] } });
    const [first] = started.servers;
    await addCluster(first, 'alpha');
    await createNamespace(first, 'ci');
    await createAccount(first, 'builder');
    await setRole(first, 'see', { names: ['alpha'] });
  });
  afterEach(() => stopped?.signal('SIGCONT'));
  afterAll(async () => {
    await started?.destroy();
    await etcd?.destroy();
  });

  const isIn = async (server: Server, token: string): Promise<boolean> =>
    (await server.call('GET', FROM_MEMORY, { token })).code === 200;
  const sees = async (server: Server): Promise<boolean> => {
    const { code, json } = await server.call('GET', FROM_MEMORY, { token: tokenOf('jane') });
    return code === 200 && json.items.length > 0;
  };
  /** Repeats a request that the hanging member may have made fail, until it is acknowledged. */
  const remove = async (server: Server, path: string): Promise<void> => {
    for (;;) {
      const { code, text } = await server.call('DELETE', path);
      // 404: an attempt with an unknown result has done it.
      if (code === 200 || code === 404) return;
      expect([503, 504], text).toContain(code);
    }
  };

  it.each([0, 1, 2])(
    'member %i: refused at once where it was acknowledged, and elsewhere by a replica that has read the store since',
    async (i) => {
      const [at, other] = i % 2 === 0 ? started.servers : [started.servers[1], started.servers[0]];
      // The member of the round before may be slow for a moment.
      await expect.poll(async () => (await at.call('GET', CLUSTERS)).code).toBe(200);
      const token = await issue(at);
      const { kid = '' } = decodeProtectedHeader(token);
      await bindRole(at, 'see', 'jane');
      for (const server of started.servers) {
        await expect.poll(() => isIn(server, token)).toBe(true);
        await expect.poll(() => sees(server)).toBe(true);
      }
      // The last round revokes the key of the token instead of the token.
      const path = i === 2 ? `${SIGNING_KEYS}/${kid}` : `${ISSUED_TOKENS}/${decodeJwt(token).jti}`;
      stopped = etcd.members[i];
      stopped?.signal('SIGSTOP');
      await delay(100);
      await Promise.all([remove(at, path), remove(at, `${RBAC}/clusterrolebindings/see`)]);
      const expectRefused = async (server: Server, where: string): Promise<void> => {
        const answers = Array.from({ length: QUESTIONS }, () => Promise.all([isIn(server, token), sees(server)]));
        for (const [tokenIsIn, janeSees] of await Promise.all(answers))
          expect({ tokenIsIn, janeSees }, where).toEqual({ tokenIsIn: false, janeSees: false });
      };
      await expectRefused(at, 'where it was acknowledged');
      // src/storage/freshness.test.ts tests with a manual clock that this takes at most a second.
      await expect.poll(async () => (await other.call('GET', CLUSTERS)).code).toBe(200);
      await expectRefused(other, 'elsewhere');
    },
  );
});
