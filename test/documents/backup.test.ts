import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, freePorts } from '../conformance/etcd-process.ts';
import { addCluster } from '../e2e/support/fleet.ts';
import { createAccount, createNamespace, tokenPath } from '../e2e/support/objects.ts';
import { CLUSTERS } from '../e2e/support/paths.ts';
import { type Server, startServer } from '../e2e/support/server.ts';
import { LAUNCHER } from '../program.ts';
import { blocksOf, execute, isRun } from './support/blocks.ts';
import { type EtcdWithTls, startEtcdWithTls } from './support/etcd-with-tls.ts';
import { everyCommandWasRun } from './support/every-command.ts';
import { PageRunner } from './support/page-runner.ts';

const page = blocksOf('docs/backup.md');
const blocks = page.filter(isRun);
const LOST_KEY = 'If the encryption key is lost or stolen';
describeWithEtcd('docs/backup.md', () => {
  let server: Server;
  let etcd: EtcdWithTls;
  let runner: PageRunner;
  let token: string;
  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    [server, etcd] = await Promise.all([
      startServer({ port, args: ['--base-url', `http://127.0.0.1:${port}`] }),
      startEtcdWithTls(),
    ]);
    runner = await PageRunner.create(() => [
      ['/var/lib/clusterpass', server.dataDir],
      ['10.0.0.1:2379', etcd.endpoints.join(',')],
    ]);
    etcd.writeClientFiles(runner.folder);
    await addCluster(server, 'alpha');
    await createNamespace(server, 'ci');
    await createAccount(server, 'builder');
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    token = (await server.call('POST', tokenPath(), { body })).json.status.token;
  });
  afterAll(() => Promise.all([runner.destroy(), server.destroy(), etcd.destroy()]));

  const succeed = async (text: string): Promise<string> => {
    const { code, output } = await runner.shell(text);
    expect(code, `${text}\n${output}`).toBe(0);
    return output;
  };
  const runSection = async (name: string): Promise<string> => {
    const found = blocks.filter(({ section }) => section === name);
    expect(found.length, name).toBeGreaterThan(0);
    let output = '';
    for (const block of found) output += await execute(block, (text) => succeed(runner.localize(text)));
    return output;
  };

  it('backs up SQLite while the server runs, and restores it', async () => {
    expect(await runSection('Back up SQLite')).toContain(': 0 problems');
    await addCluster(server, 'later');
    await server.stop();
    // All that is left of the old machine is the backup and the key.
    rmSync(join(server.dataDir, 'keys'), { recursive: true });
    expect(await runSection('Restore SQLite')).toContain(': 0 problems');
    server = await server.restart();
    expect((await server.call('GET', `${CLUSTERS}/alpha`)).code, 'with the admin token that is still there').toBe(200);
    expect((await server.call('GET', `${CLUSTERS}/later`)).code).toBe(404);
    expect((await server.call('GET', '/auth/v1/clusters', { token })).code, 'with an issued token').toBe(200);
  });

  /** The command that `kubectl exec` runs in a pod. */
  const inPod = async (section: string): Promise<string> => {
    const lines = page.filter((block) => block.section === section).flatMap(({ text }) => text.split('\n'));
    const commands = lines.join('\n').replaceAll('\\\n', '').split('\n');
    const found = commands.flatMap((line) => /^.*kubectl .* exec .* -- node (.*?)\)?$/.exec(line)?.[1] ?? []);
    expect(found.length, section).toBe(3);
    let output = '';
    for (const command of found) {
      const launcher = command.replace('/opt/clusterpass/bin/clusterpass.mjs', LAUNCHER);
      output += await succeed(`${process.execPath} ${runner.localize(launcher)}`);
    }
    return output;
  };

  it('backs up and restores the volume of a pod, whose image has Node and no shell', async () => {
    await succeed('rm fleet.db');
    await inPod('Back up SQLite');
    await addCluster(server, 'later');
    await server.stop();
    expect(await inPod('Restore SQLite')).toContain(': 0 problems');
  });

  it('moves what was restored to a store with other keys', async () => {
    await runSection(LOST_KEY);
    server = await server.restart();
    expect((await server.call('GET', `${CLUSTERS}/alpha`)).code).toBe(200);
    expect((await server.call('GET', `${CLUSTERS}/later`)).code).toBe(404);
    expect((await server.call('GET', '/auth/v1/clusters', { token })).code, 'with an issued token').toBe(401);
  });

  it('backs up etcd by an export, and restores it', async () => {
    const flags = '--etcd-cafile etcd-ca.crt --etcd-certfile etcd-client.crt --etcd-keyfile etcd-client.key';
    await succeed('clusterpass store export --store sqlite:fleet.db -f seed.jsonl');
    const store = runner.localize('etcd://10.0.0.1:2379/clusterpass');
    await succeed(`clusterpass store import --store ${store} ${flags} -f seed.jsonl`);
    await runSection('Back up etcd');
    expect(await runSection('Restore etcd')).toMatch(/ 1 {2}clusters\n(.*\n)*.*: 0 problems/);
  });

  everyCommandWasRun('docs/backup.md');
});
