import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { freePorts } from '../conformance/etcd-process.ts';
import { addCluster, patchCluster } from '../e2e/support/fleet.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { CLUSTERS } from '../e2e/support/paths.ts';
import { type Server, startServer } from '../e2e/support/server.ts';
import { trust } from '../e2e/support/trust.ts';
import {
  type Block,
  blocksOf,
  commandsIn,
  execute,
  isCommands,
  isRun,
  PAGES,
  ROOT,
  readPage,
} from './support/blocks.ts';
import { misuseOf } from './support/connect-pages.ts';
import { everyCommandWasRun } from './support/every-command.ts';
import { PageRunner } from './support/page-runner.ts';

/** The section of README.md whose commands are run below; the others are run by the test of the release. */
const README_SECTION = 'With kubectl';
/** Pages whose commands are run by another file. That file fails if it has not run all of them. */
const RUN_BY: Readonly<Record<string, string>> = {
  'README.md': 'test/packages/release.test.ts',
  'docs/backup.md': 'test/documents/backup.test.ts',
  'docs/connect/ci.md': 'test/documents/connect-ci.test.ts',
  'docs/connect/monitoring.md': 'test/documents/connect-monitoring.test.ts',
  'docs/first-clusters.md': 'test/documents/first-clusters.test.ts',
  'docs/install.md': 'test/documents/install.test.ts',
  'docs/rbac.md': 'test/documents/rbac.test.ts',
  'docs/security.md': 'test/setup/supply-chain.test.ts',
  'docs/troubleshooting.md': 'test/documents/troubleshooting.test.ts',
};
/** Pages whose commands are run below, in this order: those of cli.md delete objects that the others use. */
const RUN_HERE = [
  'docs/operations.md',
  'docs/trust.md',
  'docs/kubectl.md',
  'docs/connect/identity-providers.md',
  'docs/passes.md',
  'docs/cli.md',
];

const readme: readonly Block[] = blocksOf('README.md').filter(
  (block) => block.section === README_SECTION && isRun(block),
);
const blocks = PAGES.flatMap(blocksOf).filter(isCommands);
/** Commands between backticks, also those that go on in the next line. */
const inProse = [...PAGES, 'CHANGELOG.md', 'SECURITY.md'].flatMap((page) =>
  Array.from(readPage(page).matchAll(/(?<!`)`((?:clusterpass|npm run)\s[^`]+)`/g), ([, text = '']) => ({
    page,
    text: text.replaceAll(/\s+/g, ' '),
  })),
);
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };

describe('commands of all pages', () => {
  it('are run, or marked as not run with the reason', () => {
    const pages = new Set(blocks.filter(isRun).map(({ page }) => page));
    expect([...pages].sort()).toEqual([...Object.keys(RUN_BY), ...RUN_HERE].sort());
    expect(blocks.filter(({ text, notRun }) => notRun === undefined && /not tested/.test(text))).toEqual([]);
  });

  it.each(Object.entries(RUN_BY))('%s is run by %s, which fails if a command was left out', (page, file) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`everyCommandWasRun('${page}'`);
  });

  it('are of clusterpass and npm as they are', () => {
    const wrong: string[] = [];
    for (const { page, text } of [...blocks, ...inProse]) {
      for (const command of commandsIn(text)) {
        const [program = '', ...args] = command.replace(/ +# .*$/, '').split(/\s+/);
        const misuse = /^(?:bin\/)?clusterpass(?:\.mjs)?$/.test(program) ? misuseOf(args) : undefined;
        if (misuse !== undefined) wrong.push(`${page}: ${misuse}`);
        const script = program === 'npm' && args[0] === 'run' ? args.filter((arg) => arg !== '--silent')[1] : undefined;
        if (script !== undefined && !(script in scripts)) wrong.push(`${page}: npm run ${script}`);
        const bench = /^npm run bench -- ([a-z][\w-]*)/.exec(command)?.[1];
        const folders = bench === undefined ? [] : ['goals', 'studies'];
        if (bench !== undefined && !folders.some((folder) => existsSync(join(ROOT, 'bench', folder, `${bench}.ts`))))
          wrong.push(`${page}: no benchmark ${bench}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

const CLUSTER = 'apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: {name: extra}\n';

describeWithKubectl('run', () => {
  let server: Server;
  let cluster: FakeApiServer;
  let runner: PageRunner;
  let url: string;
  const authority = createAuthority('CA of the cluster');
  const env: Record<string, string> = {};

  const succeed = async (text: string): Promise<string> => {
    const { code, output } = await runner.shell(text);
    expect(code, `${text}\n${output}`).toBe(0);
    return output;
  };

  beforeAll(async () => {
    const [port = 0, tlsPort = 0] = await freePorts(2);
    url = `https://127.0.0.1:${tlsPort}`;
    cluster = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), ({ path, headers }) => {
      // `clusterpass register` sends the token of the kubeconfig, and the prober one that no key verifies.
      if (headers.authorization !== 'Bearer of-an-administrator') return { status: 401 };
      const body = path === '/version' ? { gitVersion: 'v1.36.4' } : { metadata: { uid: 'a-uid' } };
      return { status: 200, body: JSON.stringify(body) };
    });
    runner = await PageRunner.create(
      (folder) => [
        ['https://127.0.0.1:8443', url],
        ['https://clusterpass.example.com', url],
        ['/var/lib/clusterpass', join(folder, '.clusterpass')],
        ['/etc/kubernetes/authentication.yaml', join(folder, 'authentication.yaml')],
      ],
      env,
    );
    const { folder } = runner;
    const dataDir = join(folder, '.clusterpass');
    mkdirSync(dataDir, { mode: 0o700 });
    const args = ['--demo', '--demo-tls-listen', `127.0.0.1:${tlsPort}`, '--base-url', url];
    server = await startServer({ dataDir, port, args: [...args, '--cluster-networks', '127.0.0.0/8'] });
    const caFile = join(dataDir, 'demo/tls.crt');
    trust(dataDir, readFileSync(caFile, 'utf8'));
    await prepareFleet(caFile);
  });
  afterAll(async () => {
    await runner.destroy();
    await server.destroy();
    await cluster.close();
  });

  /** The objects, files and variables that the pages assume. */
  async function prepareFleet(caFile: string): Promise<void> {
    const { folder } = runner;
    const { adminToken: token } = server;
    await addCluster(server, 'alpha');
    const ready = { type: 'Ready', status: 'True', reason: 'Checked', message: '' };
    const status = await server.call('PATCH', `${CLUSTERS}/alpha/status`, {
      body: { status: { conditions: [{ ...ready, lastTransitionTime: '2026-11-16T00:00:00Z' }] } },
    });
    expect(status.code, status.text).toBe(200);
    const address = `https://127.0.0.1:${cluster.port}`;
    const caBundle = Buffer.from(authority.cert).toString('base64');
    const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: address }];
    await patchCluster(server, 'prod-eu-1', { spec: { orchestratorApiEndpoints: { serverEndpoints, caBundle } } });
    Object.assign(env, { CLUSTERPASS_SERVER: url, CLUSTERPASS_TOKEN: token, CLUSTERPASS_CA: caFile });
    Object.assign(env, { CURL_CA_BUNDLE: caFile, server: url, token, received: token });
    mkdirSync(join(folder, 'fleet'));
    for (const name of ['cluster.yaml', 'fleet/cluster.yaml']) writeFileSync(join(folder, name), CLUSTER);
    mkdirSync(join(folder, '.kube'));
    copyFileSync(caFile, join(folder, '.kube/ca.crt'));
    const kubeconfig = (name: string, endpoint: object, user: object): string =>
      JSON.stringify({
        clusters: [{ name, cluster: endpoint }],
        users: [{ name, user }],
        contexts: [{ name, context: { cluster: name, user: name } }],
        'current-context': name,
      });
    const fleet = kubeconfig('fleet', { server: url, 'certificate-authority': 'ca.crt' }, { token });
    writeFileSync(join(folder, '.kube/config'), fleet);
    const dev = { server: address, 'certificate-authority-data': caBundle };
    writeFileSync(join(folder, 'dev.yaml'), kubeconfig('admin@dev', dev, { token: 'of-an-administrator' }));
    for (const name of ['admin.token', 'id-token.txt', 'refused.token'])
      writeFileSync(join(folder, name), name === 'refused.token' ? 'unknown' : token, { mode: 0o600 });
    await succeed('clusterpass create token builder -n ci --cluster prod-eu-1 > leaked-token');
  }

  it('README.md, with kubectl', async () => {
    for (const block of readme) {
      const output = await execute(block, (text) => succeed(runner.localize(text)));
      expect(output).toMatch(/^prod-eu-1 /m);
      expect(output).toMatch(/^eyJ[\w.-]+$/m);
    }
  });
  everyCommandWasRun('README.md', [README_SECTION]);

  /** Preparations for the commands of a block. */
  async function prepare(text: string): Promise<string> {
    await runner.shell('rm -rf fleet.db prod-eu-1-webhook');
    // The environment has the token for all other commands.
    if (/clusterpass logout/.test(text)) await succeed(`clusterpass login --server ${url} --token-file admin.token`);
    // Other commands of the page need the context that was current before.
    if (/clusterpass use/.test(text)) return `${text}\nkubectl config use-context fleet`;
    if (!/keys revoke/.test(text)) return text;
    // A key that exists, in place of the one on the page.
    const { json } = await server.call('GET', '/apis/clusterpass.dev/v1alpha1/signingkeys');
    return text.replaceAll('RkEm2pTSmmwLLLhIExcVnKNnyQGyZWRr9wHQyvDF0hc', json.items[0].metadata.name);
  }

  describe.each(RUN_HERE)('%s', (page) => {
    it(
      'its commands succeed, in the order of the page',
      async () => {
        for (const block of blocksOf(page)) {
          // Files of other folders are examples.
          if (block.file !== undefined && !block.file.includes('/')) await runner.run(block);
          else if (isRun(block))
            await execute(block, async (text) => succeed(untilItPrints(runner.localize(await prepare(text)))));
        }
        expect((await server.call('GET', CLUSTERS)).code).toBe(200);
      },
      PAGE_MS,
    );
    everyCommandWasRun(page);
  });
});

/** docs/cli.md has a hundred commands, each a process. */
const PAGE_MS = 600_000;

/** Commands that watch are stopped when they have printed something. */
const untilItPrints = (script: string): string =>
  script.replaceAll(
    /^.* --watch\b.*$/gm,
    (line) =>
      `${line} > watch.log 2>&1 & watcher=$!; until [ -s watch.log ]; do kill -0 $watcher; sleep 0.1; done; ` +
      'kill $watcher; wait $watcher || true; rm watch.log',
  );
