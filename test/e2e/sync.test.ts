import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Context, Invocation, type Run } from '../../src/cli/command.ts';
import { run as runExport } from '../../src/cli/commands/sync-export.ts';
import { NO_PROGRESS } from '../../src/cli/progress.ts';
import { FakeHub } from '../../src/sync/hub.fixture.ts';
import { Person } from './support/cli.ts';
import { addCluster, relabel, removeCluster } from './support/fleet.ts';
import { type Server, startServer } from './support/server.ts';

/** `clusterpass sync` between a server and a hub. */

const PROFILE_GROUP = 'multicluster.x-k8s.io';
const PROFILES = `${PROFILE_GROUP}/clusterprofiles`;

let server: Server;
let hub: FakeHub;
let admin: Person;
let kubeconfig: string;

beforeAll(async () => {
  hub = await new FakeHub({ [PROFILE_GROUP]: ['v1alpha1'] }).start();
  server = await startServer();
  admin = await Person.as(server);
  kubeconfig = join(admin.home, 'hub.yaml');
  await writeFile(kubeconfig, hub.kubeconfig);
  const endpoints = [
    { clientCIDR: '10.0.0.0/8', serverAddress: 'https://10.0.0.1:6443' },
    { clientCIDR: '0.0.0.0/0', serverAddress: 'https://prod.example:6443' },
  ];
  const spec = { orchestratorApiEndpoints: { serverEndpoints: endpoints } };
  await addCluster(server, 'prod-1', { labels: { env: 'prod' }, spec, annotations: { note: 'secret' } });
  await addCluster(server, 'prod-2', { labels: { env: 'prod' }, spec });
  await addCluster(server, 'dev-1', { labels: { env: 'dev' }, spec });
});
afterAll(async () => {
  await hub?.stop();
  await server?.destroy();
  await admin?.leave();
});

const untilTrue = async (test: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 5));
};

/** Starts a command that runs until it is stopped, in this process. */
function start(run: Run, options: Readonly<Record<string, unknown>>) {
  const stop = new AbortController();
  const written = { out: '', err: '' };
  const into = (name: 'out' | 'err') => ({
    isTerminal: false,
    write: (text: string): void => {
      written[name] += text;
    },
  });
  const context: Context = {
    env: { HOME: admin.home, CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: server.adminToken },
    cwd: admin.home,
    version: '0.0.0',
    now: Date.now,
    out: into('out'),
    err: into('err'),
    readStdin: async () => '',
    progress: NO_PROGRESS,
    stopped: () => stop.signal,
  };
  const ended = run(context, new Invocation([], { kubeconfig, ...options }));
  return {
    written,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}

const profiles = (): string[] => [...hub.objects(PROFILES).keys()].sort();

describe('clusterpass sync export', () => {
  const once = ['sync', 'export', '--kubeconfig', 'hub.yaml', '--namespace', 'inv', '--once'];

  it('CP-86: writes the selected clusters once, and nothing the second time', async () => {
    const dry = await admin.ok([...once, '-l', 'env=prod', '--dry-run', 'client']);
    expect(dry).toContain('clusterprofile.multicluster.x-k8s.io/inv/prod-1 created (dry run)\n');
    expect(await admin.ok([...once, '-l', 'env=prod', '--dry-run', 'server'])).toContain('(server dry run)');
    expect(hub.writes).toEqual([]);
    await admin.ok([...once, '-l', 'env=prod', '--endpoint-for', '10.1.2.3']);
    expect(profiles()).toEqual(['inv/prod-1', 'inv/prod-2']);
    const text = JSON.stringify(hub.objects(PROFILES).get('inv/prod-1'));
    expect(text).toContain('"server":"https://10.0.0.1:6443"');
    expect(text).toContain(`"clusterpass.dev/exported-from":"${server.url}"`);
    expect(text).not.toContain('secret');
    hub.writes.length = 0;
    expect(await admin.ok([...once, '-l', 'env=prod', '--endpoint-for', '10.1.2.3'])).toBe('');
    expect(hub.writes).toEqual([]);
  });

  it('CP-86: a caller who sees an empty fleet does not empty the hub', async () => {
    const { code, stderr } = await admin.run([...once, '-l', 'env=none', '--prune', '--max-delete', '1']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('2 objects would be deleted, more than --max-delete 1'),
    ]);
    expect(profiles()).toHaveLength(2);
    await admin.ok([...once, '-l', 'env=none', '--prune', '--max-delete', '2']);
    expect(profiles()).toEqual([]);
  });

  it('names what is wrong', async () => {
    expect(await admin.fails(['sync', 'export', '--kubeconfig', 'hub.yaml'])).toContain('--namespace is required');
    expect(await admin.fails([...once, '--manager', 'a b'])).toContain('--manager: "a b" is not a label value');
    expect(await admin.fails([...once, '--endpoint-for', 'here'])).toContain('"here" is not an IP address');
    expect(await admin.fails([...once, '--max-delete', '-1'])).toContain('--max-delete: "-1" is not a whole number');
    expect(await admin.fails([...once.slice(0, -1), '--dry-run', 'client'])).toContain('--dry-run needs --once');
    expect(await admin.fails([...once, '-l', 'a==='])).toContain('BadRequest');
    expect(await admin.fails([...once, '--context', 'none'])).toContain('has no context "none"');
    hub.fault = () => ({ code: 401 });
    expect(await admin.fails(once)).toContain('Unauthorized');
    hub.fault = () => undefined;
    await writeFile(join(admin.home, 'none.yaml'), hub.kubeconfig.replace(/"token":"[^"]*"/, '"exec":{}'));
    expect(await admin.fails([...once, '--kubeconfig', 'none.yaml'])).toContain('exec plugins are not supported');
    await writeFile(join(admin.home, 'plain.yaml'), hub.kubeconfig.replace('127.0.0.1', 'hub.example'));
    expect(await admin.fails([...once, '--kubeconfig', 'plain.yaml'])).toContain('is plain HTTP');
  });

  it('follows the fleet while the hub and the server restart', async () => {
    await hub.stop();
    const sync = start(runExport, {
      namespace: 'inv',
      selector: 'env=prod',
      prune: true,
      metricsListen: '127.0.0.1:0',
    });
    await untilTrue(() => sync.written.err.includes('TargetConnected=False'));
    await hub.start();
    await untilTrue(() => profiles().length === 2 && sync.written.err.includes('Synced=True'));

    const metricsUrl = /http:\S+\/metrics/.exec(sync.written.err)?.[0] ?? '';
    expect(await (await fetch(metricsUrl)).text()).toContain('clusterpass_sync_condition{type="Synced"} 1');
    expect((await fetch(metricsUrl.replace('metrics', 'readyz'))).status).toBe(200);

    await relabel(server, 'dev-1', { env: 'prod' });
    await untilTrue(() => profiles().length === 3);
    await server.stop();
    server = await server.restart();
    await hub.stop();
    await hub.start();
    await removeCluster(server, 'dev-1');
    await untilTrue(() => profiles().length === 2);
    expect(await sync.stop()).toBe(0);
    expect(sync.written.out).toContain('/inv/dev-1 deleted\n');
  });
});
