import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { checkTraces } from '../chaos/trace-checker.ts';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from '../conformance/etcd-process.ts';
import { bootstrap, type Order, ordersOf, TestConnector } from './support/connector.ts';
import { addCluster, namesIn, PUBLIC_LIST, touch } from './support/fleet.ts';
import { createAccount, createCluster, createNamespace, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { inCluster, TOKEN } from './support/reviews.ts';
import { run } from './support/run.ts';
import type { Answer, Server } from './support/server.ts';
import { brief, Watch, type WatchEvent } from './support/watch.ts';

/** A replica on a slow machine may answer that it is behind etcd (503, 504). It must never answer with an old state. */
async function insist<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (attempt >= 20) throw error;
    }
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const leads = async (server: Server): Promise<boolean> =>
  /^clusterpass_leader 1$/m.test((await server.call('GET', '/metrics')).text);

async function read(server: Server, path: string): Promise<Answer> {
  const answer = await server.call('GET', path);
  if (answer.code !== 200) throw new Error(answer.text);
  return answer;
}

describeWithEtcd('B8: replicas on one etcd', () => {
  let etcd: Etcd;
  let started: Replicas;
  let replicas: readonly [Server, Server];
  beforeAll(async () => {
    etcd = await startEtcd();
    started = await startReplicas(etcd, { users: { jane: [] }, args: ['--signing-algorithm-for', 'azure=RS256'] });
    replicas = [started.servers[0], started.servers[1]];
  });
  afterAll(async () => {
    await Promise.all((replicas ?? []).map((server) => server.destroy()));
    await started?.destroy();
    await etcd?.destroy();
  });

  it('a write that one has acknowledged is in the next list, and the next get, at the other', async () => {
    const WRITERS = 10;
    const ROUNDS = 12;
    let reads = 0;
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        const name = `writer-${writer}`;
        await addCluster(replicas[0], name);
        for (let round = 0; round < ROUNDS; round++) {
          const [writer, reader] = round % 2 === 0 ? replicas : replicas.toReversed();
          if (writer === undefined || reader === undefined) throw new Error('there are two');
          const version = await insist(() => touch(writer, name, `${round}`));
          const [list, get] = await Promise.all([
            insist(() => read(reader, `${CLUSTERS}?fieldSelector=metadata.name=${name}`)),
            insist(() => read(reader, `${CLUSTERS}/${name}`)),
          ]);
          expect(list.json.items[0].metadata.annotations.note).toBe(`${round}`);
          expect(Number(list.json.metadata.resourceVersion)).toBeGreaterThanOrEqual(version);
          expect(Number(get.json.metadata.resourceVersion)).toBe(version);
          reads += 2;
        }
      }),
    );
    expect(reads).toBe(WRITERS * ROUNDS * 2);
  });

  it('L-34: a list that began at one is continued at the other, and its version holds there', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await addCluster(replicas[0], name, { labels: { page: 'yes' } });
    const query = '?labelSelector=page%3Dyes&limit=2';
    const first = await replicas[0].call('GET', `${CLUSTERS}${query}`);
    expect(namesIn(first)).toEqual(['page-a', 'page-b']);
    await touch(replicas[0], 'page-c', 'later');
    const token = encodeURIComponent(first.json.metadata.continue);
    const second = await replicas[1].call('GET', `${CLUSTERS}${query}&continue=${token}`);
    expect(second.code, second.text).toBe(200);
    expect(namesIn(second)).toEqual(['page-c']);
    expect(second.json.items[0].metadata.annotations?.note).toBeUndefined();
    expect(second.json.metadata.resourceVersion).toBe(first.json.metadata.resourceVersion);
    const exact = `?resourceVersion=${first.json.metadata.resourceVersion}&resourceVersionMatch=Exact&labelSelector=page%3Dyes`;
    expect(namesIn(await replicas[1].call('GET', `${CLUSTERS}${exact}`))).toEqual(['page-a', 'page-b', 'page-c']);
  });

  it('A4: a token that one issued is accepted by the other, until its account is deleted at the first', async () => {
    await addCluster(replicas[0], 'alpha');
    await createNamespace(replicas[0], 'ci');
    await createAccount(replicas[0], 'builder');
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    const issued = await replicas[0].call('POST', tokenPath(), { body });
    expect(issued.code, issued.text).toBe(201);
    const { token } = issued.json.status;
    expect((await replicas[1].call('GET', PUBLIC_LIST, { token })).code).toBe(200);
    await replicas[0].call('DELETE', '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts/builder');
    // The other replica gets the event through its watch. A consistent read there waits for it.
    await replicas[1].call('GET', CLUSTERS);
    expect((await replicas[1].call('GET', PUBLIC_LIST, { token })).code).toBe(401);
  });

  it('A18: a token that was revoked at one is refused by the other too, and its watch there ends', async () => {
    await createAccount(replicas[0], 'revoked');
    const metadata = { annotations: { 'clusterpass.dev/tracked': 'true' } };
    const body = { metadata, spec: { audiences: [] } };
    const { token } = (await replicas[0].call('POST', tokenPath('revoked'), { body })).json.status;
    const issuedTokens = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
    const [listed] = (await replicas[1].call('GET', issuedTokens)).json.items;
    const watch = await Watch.open(replicas[1], `${PUBLIC_LIST}?watch=true`, token);
    expect(watch.code).toBe(200);
    expect((await replicas[0].call('DELETE', `${issuedTokens}/${listed.metadata.name}`)).code).toBe(200);
    // A review waits for the newest state; a bearer token is verified with the state that has arrived.
    const review = { body: { spec: { token } } };
    expect((await replicas[1].call('POST', inCluster(TOKEN), review)).json.status).toEqual({
      user: {},
      error: 'service account token has been revoked',
    });
    await expect
      .poll(async () => (await replicas[1].call('GET', PUBLIC_LIST, { token })).code, { interval: 10 })
      .toBe(401);
    expect((await watch.rest()).map(brief)).toEqual(['ERROR 401']);
    expect((await replicas[1].call('GET', issuedTokens)).json.items).toEqual([]);
  });

  it('B12: while etcd does not respond, a review neither accepts nor rejects a token', async () => {
    await createAccount(replicas[0], 'reviewed');
    const { token } = (await replicas[0].call('POST', tokenPath('reviewed'), { body: { spec: { audiences: [] } } }))
      .json.status;
    const ask = () => replicas[1].call('POST', inCluster(TOKEN), { body: { spec: { token } } });
    expect((await ask()).json.status.authenticated).toBe(true);
    await etcd.members[0]?.kill();
    const { code, json, headers } = await ask();
    expect([code, json.kind, json.reason]).toEqual([503, 'Status', 'ServiceUnavailable']);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    await etcd.members[0]?.restart();
    await expect.poll(async () => (await ask()).code, { interval: 100 }).toBe(201);
    expect((await ask()).json.status.authenticated).toBe(true);
  });

  it('Z-06: objects that another program damages are deleted and added again for watches, and are deleted at either', async () => {
    const [one, two] = replicas;
    await createCluster(one, 'beta');
    const { metadata } = (await two.call('GET', CLUSTERS)).json;
    const watch = await Watch.open(
      two,
      `${CLUSTERS}?watch=true&fieldSelector=metadata.name=beta&resourceVersion=${metadata.resourceVersion}`,
    );
    const nextEvent = async () => brief((await watch.next()) as WatchEvent);
    const key = Buffer.from('/fleet/data/registry/clusters/beta').toString('base64');
    const { kvs } = (await etcdCall(etcd, '/v3/kv/range', { key })) as { kvs: [{ value: string }] };
    const put = (value: string) => etcdCall(etcd, '/v3/kv/put', { key, value });
    const codes = () => Promise.all([one, two].map(async (each) => (await each.call('GET', `${CLUSTERS}/beta`)).code));

    await put(Buffer.from('{"metadata":').toString('base64'));
    expect(await nextEvent()).toBe('DELETED beta');
    expect(await codes()).toEqual([500, 500]);
    await put(kvs[0].value);
    expect(await nextEvent()).toBe('ADDED beta');
    expect(await codes()).toEqual([200, 200]);
    await put(Buffer.from('[]').toString('base64'));
    expect(await nextEvent()).toBe('DELETED beta');
    expect((await one.call('DELETE', `${CLUSTERS}/beta`)).code).toBe(200);
    expect(await codes()).toEqual([404, 404]);
    await createCluster(two, 'beta');
    expect(await nextEvent()).toBe('ADDED beta');
    watch.close();
  });

  it("A55: an order is answered across replicas, and when the connector's is killed; that of a killed caller's ends", async () => {
    const [first, second] = replicas;
    const connector = await new TestConnector(first, 'ordered').login('https://pass.example');
    expect((await connector.register(await bootstrap(first, 'ordered'))).code).toBe(201);
    await connector.start({ revocable: true });
    const ask = (server: Server): Promise<Answer> =>
      server.call('POST', tokenPath('builder', 'ci', 'ordered'), { body: { spec: { audiences: [] } } });
    // Both know that the connector is connected.
    await insist(() => read(second, '/apis/clusterpass.dev/v1alpha1/connectors/ordered'));
    for (const server of replicas) {
      const { code, text } = await ask(server);
      expect(code, text).toBe(201);
    }
    const claimed = async (server: Server) => {
      const { promise, resolve } = Promise.withResolvers<Order>();
      connector.act = (order) => void resolve(order);
      const answer = ask(server).catch((error: Error) => error);
      return { order: await promise, answer };
    };
    const toSecond = await claimed(second);
    await connector.stop();
    await first.kill();
    const restarted = await first.restart();
    // It goes to the other one, and answers there what it has begun.
    connector.server = second;
    expect((await connector.answer(toSecond.order, await connector.issue(toSecond.order))).code).toBe(200);
    expect(await toSecond.answer).toMatchObject({ code: 201 });
    await connector.watch();

    const lost = await claimed(second);
    await connector.stop();
    await second.kill();
    replicas = [restarted, await second.restart()];
    connector.server = restarted;
    expect(await lost.answer).toBeInstanceOf(Error);
    // No process can read the answer, and nothing keeps the order: it ends by its own time.
    expect((await connector.answer(lost.order, await connector.issue(lost.order))).code).toBe(200);
    const { json } = await insist(() => read(restarted, `${ordersOf('ordered')}/${lost.order.name}`));
    expect(json.status.phase).toBeUndefined();
    expect(Date.parse(json.spec.expirationTimestamp)).toBeLessThan(Date.now() + 15_000);
    const issued = await insist(() => read(restarted, '/apis/clusterpass.dev/v1alpha1/issuedtokens'));
    expect(namesIn(issued)).not.toContain(lost.order.name);
    expect(namesIn(issued)).toContain(toSecond.order.name);
  });

  // The last one: the store is another one afterwards.
  it('their steps are those of the models', async () => {
    const { steps, problems } = await checkTraces(started.traces);
    expect(problems).toEqual([]);
    for (const step of ['acknowledged', 'read', 'decides', 'applied', 'leads', 'shown', 'watches', 'sent'])
      expect(steps, step).toHaveProperty(step);
  });

  it('after an import into their prefix, a replica that was not restarted decides nothing and does not lead, and says what to do', async () => {
    const [former, other] = replicas;
    await createAccount(former, 'kept');
    const store = ['--store', `etcd://${etcd.endpoints[0]}/fleet`];
    const file = `${other.dataDir}/fleet.jsonl`;
    expect(await run(['store', 'export', ...store, '-f', file])).toMatchObject({ code: 0 });
    await etcdCall(etcd, '/v3/kv/deleterange', { key: base64('/fleet/'), range_end: base64('/fleet0') });
    expect(await run(['store', 'import', ...store, '-f', file])).toMatchObject({ code: 0 });
    await other.kill();
    const next = await other.restart();
    onTestFinished(() => next.destroy());

    const body = { spec: { audiences: [] } };
    const codes = async (server: Server): Promise<number[]> =>
      Promise.all([
        server.call('POST', tokenPath('kept'), { body }).then(({ code }) => code),
        server.call('GET', `${PUBLIC_LIST}?resourceVersion=0`).then(({ code }) => code),
        server.call('GET', '/readyz').then(({ code }) => code),
      ]);
    await expect.poll(() => codes(former)).toEqual([503, 503, 503]);
    await expect.poll(() => codes(next)).toEqual([201, 200, 200]);
    await expect.poll(() => leads(next)).toBe(true);
    expect(await codes(former)).toEqual([503, 503, 503]);
    const said = '"msg":"the store in etcd has been replaced while it was open: restart this process"';
    await expect.poll(() => former.output.stderr.split(said)).toHaveLength(2);
  });
});
