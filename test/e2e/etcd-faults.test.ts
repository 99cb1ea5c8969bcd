import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from '../conformance/etcd-process.ts';
import { addCluster, CLUSTERS, touch } from './support/fleet.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import type { Server } from './support/server.ts';
import { createAccount, createNamespace, tokenPath } from './support/token-world.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

const RECOVERY_MS = 10_000;

/** Collects what a watch shows, for as long as it is open. */
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

/** Tries until it works; how long that took. */
async function eventually(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (;;) {
    try {
      await action();
      return performance.now() - start;
    } catch (error) {
      if (performance.now() - start > 3 * RECOVERY_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describeWithEtcd('replicas while etcd is in trouble', () => {
  let etcd: Etcd;
  let started: Replicas;
  let replicas: readonly [Server, Server];
  let followers: readonly Follower[];
  let watches: readonly Watch[];
  const written: number[] = [];
  const write = async (server: Server, note: string): Promise<void> => {
    written.push(await touch(server, 'steady', note));
  };
  const write503 = async (server: Server): Promise<void> => {
    const started = performance.now();
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const answer = await server.call('PATCH', `${CLUSTERS}/steady`, { body: { metadata: { labels: {} } }, headers });
    expect(answer.code, answer.text).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(performance.now() - started).toBeLessThan(RECOVERY_MS);
  };
  /** All that was acknowledged, in order and once; what was refused may or may not have happened. */
  const expectAllSeen = async (): Promise<void> => {
    for (const follower of followers) {
      await expect.poll(() => follower.versions.includes(written.at(-1) ?? 0), { timeout: RECOVERY_MS }).toBe(true);
      expect(follower.versions).toEqual([...new Set(follower.versions)].toSorted((a, b) => a - b));
      expect(follower.versions).toEqual(expect.arrayContaining(written));
      expect(follower.ended).toBe(false);
    }
    expect(followers[0]?.versions).toEqual(followers[1]?.versions);
  };

  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
    started = await startReplicas(etcd);
    replicas = [started.servers[0], started.servers[1]];
    const version = await addCluster(replicas[0], 'steady');
    await addCluster(replicas[0], 'alpha');
    await createNamespace(replicas[0], 'ci');
    await createAccount(replicas[0], 'builder');
    for (const replica of replicas) await replica.call('GET', CLUSTERS);
    const path = `${CLUSTERS}?watch=1&fieldSelector=metadata.name=steady&resourceVersion=${version}`;
    watches = await Promise.all(replicas.map((replica) => Watch.open(replica, path)));
    followers = watches.map((watch) => new Follower(watch));
  });
  afterAll(async () => {
    for (const watch of watches ?? []) watch.close();
    for (const member of etcd?.members ?? []) member.signal('SIGCONT');
    await started?.destroy();
    await etcd?.destroy();
  });

  it('one member of three dies: everything goes on at the others', async () => {
    await etcd.members[2]?.kill();
    const took = await Promise.all(replicas.map((replica) => eventually(() => write(replica, 'dead'))));
    expect(Math.max(...took)).toBeLessThan(RECOVERY_MS);
    expect((await replicas[1].call('GET', CLUSTERS)).code).toBe(200);
    await etcd.members[2]?.restart();
    await expectAllSeen();
  });

  it('one member hangs: whoever was with it moves on', async () => {
    const [member] = etcd.members;
    member?.signal('SIGSTOP');
    const writeAndRead = async (server: Server): Promise<void> => {
      await write(server, 'hangs');
      expect((await server.call('GET', `${CLUSTERS}/steady`)).code).toBe(200);
    };
    const took = await Promise.all(replicas.map((replica) => eventually(() => writeAndRead(replica))));
    expect(Math.max(...took)).toBeLessThan(RECOVERY_MS);
    await expectAllSeen();
    member?.signal('SIGCONT');
  });

  it('without a quorum: 503 with Retry-After for what needs the store; the rest stays up, and it comes back by itself', async () => {
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
    const took = await Promise.all(replicas.map((replica) => eventually(() => write(replica, 'back'))));
    expect(Math.max(...took)).toBeLessThan(RECOVERY_MS);
    expect((await replicas[1].call('GET', CLUSTERS)).code).toBe(200);
    await expectAllSeen();
  });

  it('the replica that leads is killed, or hangs: the other leads, within ten seconds after a death', async () => {
    const key = Buffer.from('/fleet/data/internal/leader').toString('base64');
    const leader = async (): Promise<number> => {
      const { kvs } = (await etcdCall(etcd, '/v3/kv/range', { key })) as { kvs?: { value: string }[] };
      return Number(
        Buffer.from(kvs?.[0]?.value ?? '', 'base64')
          .toString()
          .split(' ')[1],
      );
    };
    const believes = async (server: Server): Promise<boolean> =>
      /^clusterpass_leader 1$/m.test((await server.call('GET', '/metrics')).text);
    const pids = replicas.map(({ pid }) => pid);
    await expect.poll(leader, { timeout: 3 * RECOVERY_MS }).toSatisfy((pid: number) => pids.includes(pid));
    const first = await leader();
    const [sleeper, other] = replicas[0].pid === first ? replicas : [replicas[1], replicas[0]];
    process.kill(first, 'SIGSTOP');
    await eventually(async () => expect(await leader()).toBe(other.pid));
    // It wakes up, and knows before it answers anybody that its time is over.
    process.kill(first, 'SIGCONT');
    expect(await believes(sleeper)).toBe(false);
    await eventually(async () => expect(await believes(other)).toBe(true));
    await other.kill();
    const took = await eventually(async () => expect(await leader()).toBe(first));
    expect(took).toBeLessThan(RECOVERY_MS);
    await eventually(async () => expect(await believes(sleeper)).toBe(true));
  });
});
