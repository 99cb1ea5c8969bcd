import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from '../conformance/etcd-process.ts';
import { addCluster, PUBLIC_LIST } from './support/fleet.ts';
import { createAccount, createNamespace, tokenPath } from './support/objects.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { run } from './support/run.ts';
import type { Server } from './support/server.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const leads = async (server: Server): Promise<boolean> =>
  /^clusterpass_leader 1$/m.test((await server.call('GET', '/metrics')).text);

describeWithEtcd('an import into the prefix of replicas that run', () => {
  let etcd: Etcd;
  let replicas: Replicas;
  let restarted: Server | undefined;
  beforeAll(async () => {
    etcd = await startEtcd();
    replicas = await startReplicas(etcd);
  });
  afterAll(async () => {
    await restarted?.destroy();
    await replicas?.destroy();
    await etcd?.destroy();
  });

  it('a replica that was not restarted decides nothing and does not lead, and says what to do', async () => {
    const [former, other] = replicas.servers;
    await addCluster(former, 'alpha');
    await createNamespace(former, 'ci');
    await createAccount(former, 'builder');
    const store = ['--store', `etcd://${etcd.endpoints[0]}/fleet`];
    const file = `${other.dataDir}/fleet.jsonl`;
    expect(await run(['store', 'export', ...store, '-f', file])).toMatchObject({ code: 0 });
    await etcdCall(etcd, '/v3/kv/deleterange', { key: base64('/fleet/'), range_end: base64('/fleet0') });
    expect(await run(['store', 'import', ...store, '-f', file])).toMatchObject({ code: 0 });
    await other.kill();
    restarted = await other.restart();
    const next = restarted;

    const body = { spec: { audiences: [] } };
    const codes = async (server: Server): Promise<number[]> =>
      Promise.all([
        server.call('POST', tokenPath(), { body }).then(({ code }) => code),
        server.call('GET', `${PUBLIC_LIST}?resourceVersion=0`).then(({ code }) => code),
        server.call('GET', '/readyz').then(({ code }) => code),
      ]);
    await expect.poll(() => codes(former)).toEqual([503, 503, 503]);
    await expect.poll(() => codes(next)).toEqual([201, 200, 200]);
    await expect.poll(() => leads(next)).toBe(true);
    expect(await codes(former)).toEqual([503, 503, 503]);
    const said = '"msg":"the store in etcd has been replaced while it was open: restart this process"';
    expect(former.output.stderr.split(said)).toHaveLength(2);
  });
});
