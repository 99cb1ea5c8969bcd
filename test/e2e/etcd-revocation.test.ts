import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, type EtcdMember, startEtcd } from '../conformance/etcd-process.ts';
import { addCluster, bindRole, CLUSTERS, PUBLIC_LIST, RBAC, setRole } from './support/fleet.ts';
import { createAccount, createNamespace, issue } from './support/objects.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { type Server, tokenOf } from './support/server.ts';

const SIGNING_KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
/** A list from memory: it waits for the store only if this replica may be behind. */
const FROM_MEMORY = `${PUBLIC_LIST}?resourceVersion=0`;
const PROMISE_MS = 1_000;
/** How often each replica is asked after the second has passed, however slow the machine is. */
const QUESTIONS = 15;
const GIVE_UP_MS = 60_000;

/** A request that was let in, and when it was sent. */
interface Observed {
  readonly sentAt: number;
  readonly allowed: boolean;
}

/** Asks one replica again and again, each time on its own, so that a slow answer delays no other. */
async function observe(from: () => number, ask: () => Promise<boolean>): Promise<Observed[]> {
  const asked: Promise<Observed>[] = [];
  const begun = performance.now();
  for (let after = 0; after < QUESTIONS && performance.now() - begun < GIVE_UP_MS; ) {
    const sentAt = performance.now();
    if (sentAt > from()) after += 1;
    asked.push(ask().then((allowed) => ({ sentAt, allowed })));
    await delay(100);
  }
  return Promise.all(asked);
}

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
  /** Repeats a request that the hanging member may have made fail; the time of its acknowledgement. */
  const acknowledged = async (server: Server, path: string): Promise<number> => {
    for (;;) {
      const { code, text } = await server.call('DELETE', path);
      // 404: an attempt with an unknown result has done it.
      if (code === 200 || code === 404) return performance.now();
      expect([503, 504], text).toContain(code);
    }
  };

  it.each([0, 1, 2])(
    'member %i: refused at once where it was acknowledged, and within a second elsewhere',
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
      // The last round takes the key of the token instead of the token.
      const path = i === 2 ? `${SIGNING_KEYS}/${kid}` : `${ISSUED_TOKENS}/${decodeJwt(token).jti}`;
      stopped = etcd.members[i];
      stopped?.signal('SIGSTOP');
      await delay(100);
      const taken = { token: Number.POSITIVE_INFINITY, right: Number.POSITIVE_INFINITY };
      const from = (what: 'token' | 'right', server: Server): number => taken[what] + (server === at ? 0 : PROMISE_MS);
      const writes = [
        acknowledged(at, path).then((time) => {
          taken.token = time;
        }),
        acknowledged(at, `${RBAC}/clusterrolebindings/see`).then((time) => {
          taken.right = time;
        }),
      ];
      const observed = [at, other].flatMap((server) => [
        {
          what: 'token' as const,
          server,
          seen: observe(
            () => from('token', server),
            () => isIn(server, token),
          ),
        },
        {
          what: 'right' as const,
          server,
          seen: observe(
            () => from('right', server),
            () => sees(server),
          ),
        },
      ]);
      await Promise.all(writes);
      for (const { what, server, seen } of observed) {
        const since = from(what, server);
        const after = (await seen).filter(({ sentAt }) => sentAt > since);
        const where = server === at ? 'where it was acknowledged' : 'elsewhere';
        expect(after.length, `asked about the ${what} ${where}`).toBe(QUESTIONS);
        expect(
          after.filter(({ allowed }) => allowed).map(({ sentAt }) => sentAt - since),
          `the ${what} ${where}`,
        ).toEqual([]);
      }
    },
  );
});
