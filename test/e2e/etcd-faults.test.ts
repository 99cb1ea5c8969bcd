import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { TcpProxy } from '../chaos/tcp-proxy.ts';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from '../conformance/etcd-process.ts';
import { FLEET_BINDINGS } from './support/bindings.ts';
import { addCluster, bindRole, PUBLIC_LIST, setRole, touch } from './support/fleet.ts';
import { createAccount, createNamespace, issue, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { type Server, tokenOf } from './support/server.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

const SIGNING_KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
/** A list from memory: it waits for the store only if this replica may be behind. */
const FROM_MEMORY = `${PUBLIC_LIST}?resourceVersion=0`;
/** How often each replica is asked afterwards. */
const QUESTIONS = 10;

/** Far longer than a recovery takes, for slow machines. */
const PATIENCE_MS = 60_000;

/** Collects the events of a watch while it is open. */
class Follower {
  readonly versions: number[] = [];
  ended = false;

  constructor(watch: Watch) {
    void (async () => {
      for (;;) {
        const event: WatchEvent | undefined = await watch.next().catch(() => undefined);
        if (event === undefined || event.type === 'ERROR') break;
        if (event.type !== 'BOOKMARK') this.versions.push(Number(event.object.metadata.resourceVersion));
      }
      this.ended = true;
    })();
  }
}

/** Repeats a request until it succeeds. */
async function eventually(action: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  for (;;) {
    try {
      await action();
      return;
    } catch (error) {
      if (performance.now() - start > PATIENCE_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describeWithEtcd('B12: replicas while etcd is in trouble', () => {
  let etcd: Etcd;
  /** Between the first replica and each member. */
  let proxies: readonly TcpProxy[] = [];
  let started: Replicas;
  let replicas: readonly [Server, Server];
  let followers: readonly Follower[];
  let watches: readonly Watch[];
  const written: number[] = [];
  const write = async (server: Server, note: string): Promise<void> => {
    written.push(await touch(server, 'steady', note));
  };
  const write503 = async (server: Server): Promise<void> => {
    const answer = await server.call('PATCH', `${CLUSTERS}/steady`, { body: { metadata: { labels: {} } } });
    expect(answer.code, answer.text).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  };
  /** The acknowledged writes, in order and once each. A refused write may have happened. */
  const expectAllSeen = async (): Promise<void> => {
    for (const follower of followers) {
      await expect.poll(() => follower.versions.includes(written.at(-1) ?? 0)).toBe(true);
      expect(follower.versions).toEqual([...new Set(follower.versions)].toSorted((a, b) => a - b));
      expect(follower.versions).toEqual(expect.arrayContaining(written));
      expect(follower.ended).toBe(false);
    }
    expect(followers[0]?.versions).toEqual(followers[1]?.versions);
  };

  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
    proxies = await Promise.all(etcd.endpoints.map((endpoint) => TcpProxy.to(endpoint)));
    const slowable = proxies.map(({ endpoint }) => endpoint);
    started = await startReplicas(etcd, {
      users: { jane: [] },
      endpointsOf: (replica) => (replica === 0 ? slowable : etcd.endpoints),
    });
    replicas = [started.servers[0], started.servers[1]];
    const version = await addCluster(replicas[0], 'steady');
    await addCluster(replicas[0], 'alpha');
    await createNamespace(replicas[0], 'ci');
    await createAccount(replicas[0], 'builder');
    await setRole(replicas[0], 'see', { names: ['alpha'] });
    for (const replica of replicas) await replica.call('GET', CLUSTERS);
    const path = `${CLUSTERS}?watch=1&fieldSelector=metadata.name=steady&resourceVersion=${version}`;
    watches = await Promise.all(replicas.map((replica) => Watch.open(replica, path)));
    followers = watches.map((watch) => new Follower(watch));
  });
  afterAll(async () => {
    for (const watch of watches ?? []) watch.close();
    for (const member of etcd?.members ?? []) member.signal('SIGCONT');
    await started?.destroy();
    for (const proxy of proxies) proxy.close();
    await etcd?.destroy();
  });

  it('without a quorum: 503 with Retry-After for requests that need the store; others are served, and it recovers by itself', async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    await Promise.all(etcd.members.slice(0, 2).map((member) => member.kill()));
    await Promise.all(replicas.map(write503));
    const expectUp = async (replica: Server): Promise<void> => {
      const list = await replica.call('GET', CLUSTERS);
      expect([list.code, list.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect((await replica.call('GET', `${CLUSTERS}?resourceVersion=0`)).code).toBe(200);
      expect((await replica.call('POST', tokenPath(), { body })).code).toBe(201);
      expect((await replica.call('GET', '/orchestrator/alpha/openid/v1/jwks', { token: null })).code).toBe(200);
      expect((await replica.call('GET', '/livez', { token: null })).code).toBe(200);
      expect((await replica.call('GET', '/readyz', { token: null })).code).toBe(503);
    };
    await Promise.all(replicas.map(expectUp));
    expect(followers.map(({ ended }) => ended)).toEqual([false, false]);
    await Promise.all(etcd.members.slice(0, 2).map((member) => member.restart()));
    await Promise.all(replicas.map((replica) => eventually(() => write(replica, 'back'))));
    expect((await replicas[1].call('GET', CLUSTERS)).code).toBe(200);
    await expectAllSeen();
  });

  it('every response of etcd takes a second: requests that need etcd take a second longer, and the others do not', async () => {
    const [slow] = replicas;
    const SECOND = 1_000;
    for (const proxy of proxies) proxy.slow(SECOND);
    const took = async (action: () => Promise<unknown>): Promise<number> => {
      const from = performance.now();
      await action();
      return performance.now() - from;
    };
    const answered = async (path: string, token?: null): Promise<void> => {
      const answer = await slow.call('GET', path, token === null ? { token } : {});
      expect(answer.code, answer.text).toBe(200);
    };
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    /** A 503 is repeated: this machine itself may be slower than the limit of a read. */
    const servedAfter = async (action: () => Promise<unknown>): Promise<number> => {
      let ms = 0;
      await eventually(async () => {
        ms = await took(action);
      });
      return ms;
    };
    // A watch that was fast is taken for dead, and opened again with more time. Until then reads may get a 503.
    await eventually(() => answered(CLUSTERS));
    // Requests to etcd wait for it, and a write also waits for its own event.
    expect(await servedAfter(() => answered(CLUSTERS))).toBeGreaterThanOrEqual(SECOND);
    expect(await servedAfter(() => write(slow, 'slow'))).toBeGreaterThanOrEqual(SECOND);
    await eventually(async () => expect(await took(() => answered('/readyz', null))).toBeGreaterThanOrEqual(SECOND));
    // The others do not: all of these are done while one question to etcd is still under way. More than once, should
    // this machine itself have been slower than that.
    await eventually(async () => {
      let over = false;
      const waiting = answered(CLUSTERS).finally(() => {
        over = true;
      });
      await Promise.all([
        answered(`${CLUSTERS}?resourceVersion=0`),
        answered('/orchestrator/alpha/openid/v1/jwks', null),
        answered('/livez', null),
        slow.call('POST', tokenPath(), { body }).then(({ code }) => expect(code).toBe(201)),
      ]);
      const wasFirst = !over;
      await waiting;
      expect(wasFirst).toBe(true);
    });
    // A watch there gets every event, a second later.
    await write(replicas[1], 'at the other');
    await expectAllSeen();
    const metrics = (await slow.call('GET', '/metrics')).text;
    expect(Number(/^clusterpass_cache_lag_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(1);
    // New connections, without the delay.
    for (const proxy of proxies) {
      proxy.slow(0);
      proxy.heal();
    }
    await eventually(() => write(slow, 'fast again'));
    await expectAllSeen();
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
    'B30: member %i hangs while something is taken away: refused at once where it was acknowledged, and elsewhere by a replica that has read the store since',
    async (i) => {
      const [at, other] = i % 2 === 0 ? replicas : ([replicas[1], replicas[0]] as const);
      // The member of the round before may be slow for a moment.
      await expect.poll(async () => (await at.call('GET', CLUSTERS)).code).toBe(200);
      const token = await issue(at);
      const { kid = '' } = decodeProtectedHeader(token);
      await bindRole(at, 'see', 'jane');
      for (const server of replicas) {
        await expect.poll(() => isIn(server, token)).toBe(true);
        await expect.poll(() => sees(server)).toBe(true);
      }
      // The last round revokes the key of the token instead of the token.
      const path = i === 2 ? `${SIGNING_KEYS}/${kid}` : `${ISSUED_TOKENS}/${decodeJwt(token).jti}`;
      const stopped = etcd.members[i];
      stopped?.signal('SIGSTOP');
      onTestFinished(() => stopped?.signal('SIGCONT'));
      await delay(100);
      await Promise.all([remove(at, path), remove(at, `${FLEET_BINDINGS}/see`)]);
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

  it('the replica that leads is killed, or hangs: the other leads, within ten seconds after a death', async () => {
    const key = Buffer.from('/fleet/data/internal/leader').toString('base64');
    const stored = async (): Promise<{ value?: string; lease?: string }> => {
      const { kvs } = (await etcdCall(etcd, '/v3/kv/range', { key })) as { kvs?: { value: string; lease: string }[] };
      return kvs?.[0] ?? {};
    };
    const leader = async (): Promise<number> => {
      const { value = '' } = await stored();
      return Number(Buffer.from(value, 'base64').toString().split(' ')[1]);
    };
    const believes = async (server: Server): Promise<boolean> =>
      /^clusterpass_leader 1$/m.test((await server.call('GET', '/metrics')).text);
    const pids = replicas.map(({ pid }) => pid);
    await expect.poll(leader).toSatisfy((pid: number) => pids.includes(pid));
    // The others campaign every second. So with this lease, which ends with its leader, one leads within ten seconds.
    const { lease: ID } = await stored();
    const { grantedTTL } = (await etcdCall(etcd, '/v3/lease/timetolive', { ID })) as { grantedTTL: string };
    expect(Number(grantedTTL)).toBeLessThanOrEqual(8);
    const first = await leader();
    const [sleeper, other] = replicas[0].pid === first ? replicas : [replicas[1], replicas[0]];
    process.kill(first, 'SIGSTOP');
    await eventually(async () => expect(await leader()).toBe(other.pid));
    // It continues, and knows before its first response that its lease has expired.
    process.kill(first, 'SIGCONT');
    expect(await believes(sleeper)).toBe(false);
    await eventually(async () => expect(await believes(other)).toBe(true));
    await other.kill();
    await eventually(async () => expect(await leader()).toBe(first));
    await eventually(async () => expect(await believes(sleeper)).toBe(true));
  });
});
