import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addCluster, CLUSTERS } from '../e2e/support/fleet.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { type Server, startServer, TLS } from '../e2e/support/server.ts';
import { blocksOf, commandsIn, isCommands, isRun, PAGES, ROOT } from './support/blocks.ts';
import { misuseOf } from './support/connect-pages.ts';
import { PageRunner } from './support/page-runner.ts';

/** Pages whose commands are run by another file, which reads them from the page. */
const RUN_BY: Readonly<Record<string, string>> = {
  'README.md': 'test/packages/tour.ts',
  'docs/backup.md': 'test/documents/backup.test.ts',
  'docs/connect/ci.md': 'test/documents/connect-ci.test.ts',
  'docs/connect/monitoring.md': 'test/documents/connect-monitoring.test.ts',
  'docs/first-clusters.md': 'test/documents/first-clusters.test.ts',
  'docs/kubernetes-install.md': 'test/documents/kubernetes-install.test.ts',
  'docs/rbac.md': 'test/documents/rbac.test.ts',
  'docs/security.md': 'test/setup/supply-chain.test.ts',
  'docs/troubleshooting.md': 'test/documents/troubleshooting.test.ts',
};
/** Pages whose commands are run below, in this order: those of cli.md delete objects that the others use. */
const RUN_HERE = ['docs/operations.md', 'docs/trust.md', 'docs/cli.md'];

const blocks = PAGES.flatMap(blocksOf).filter(isCommands);
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };

describe('commands of all pages', () => {
  it('are run, or marked as not run with the reason', () => {
    const pages = new Set(blocks.filter(isRun).map(({ page }) => page));
    expect([...pages].sort()).toEqual([...Object.keys(RUN_BY), ...RUN_HERE].sort());
    expect(blocks.filter(({ text, notRun }) => notRun === undefined && /not run by/.test(text))).toEqual([]);
  });

  it.each(Object.entries(RUN_BY))('%s is read by %s', (page, file) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(page);
  });

  it('are of clusterpass and npm as they are', () => {
    const wrong: string[] = [];
    for (const { page, text } of blocks) {
      for (const command of commandsIn(text)) {
        const [program = '', ...args] = command.replace(/ +# .*$/, '').split(/\s+/);
        const misuse = /^(?:bin\/)?clusterpass(?:\.mjs)?$/.test(program) ? misuseOf(args) : undefined;
        if (misuse !== undefined && !/^(?:store|admin-token)$/.test(args[0] ?? '')) wrong.push(`${page}: ${misuse}`);
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
  let runner: PageRunner;
  let key = '';
  beforeAll(async () => {
    server = await startServer({ tls: true, args: ['--demo=true'] });
    await addCluster(server, 'alpha');
    const { url, adminToken, dataDir } = server;
    runner = await PageRunner.create(
      (folder) => [
        ['/var/lib/clusterpass', dataDir],
        ['/etc/kubernetes/authentication.yaml', join(folder, 'authentication.yaml')],
      ],
      {
        CLUSTERPASS_SERVER: url,
        CLUSTERPASS_TOKEN: adminToken,
        CLUSTERPASS_CA: TLS.caFile,
        CURL_CA_BUNDLE: TLS.caFile,
        server: url,
        token: adminToken,
        received: adminToken,
      },
    );
    const { folder } = runner;
    mkdirSync(join(folder, 'fleet'));
    for (const name of ['cluster.yaml', 'fleet/cluster.yaml']) writeFileSync(join(folder, name), CLUSTER);
    mkdirSync(join(folder, '.kube'));
    copyFileSync(TLS.caFile, join(folder, '.kube/ca.crt'));
    const kubeconfig = {
      clusters: [{ name: 'fleet', cluster: { server: url, 'certificate-authority': 'ca.crt' } }],
      users: [{ name: 'admin', user: { token: adminToken } }],
      contexts: [{ name: 'fleet', context: { cluster: 'fleet', user: 'admin' } }],
      'current-context': 'fleet',
    };
    writeFileSync(join(folder, '.kube/config'), JSON.stringify(kubeconfig));
    const made = await runner.shell('clusterpass create token builder -n ci --cluster prod-eu-1 > leaked-token');
    expect(made.code, made.output).toBe(0);
  });
  afterAll(async () => {
    await runner.destroy();
    await server.destroy();
  });

  it.each(RUN_HERE)('%s', async (page) => {
    const found = blocksOf(page).filter(isRun);
    expect(found.length).toBeGreaterThan(0);
    for (const { text } of found) {
      // A key that is there, in place of the one on the page.
      if (/keys revoke/.test(text)) {
        const { json } = await server.call('GET', '/apis/clusterpass.dev/v1alpha1/signingkeys');
        key = json.items[0].metadata.name;
      }
      // The environment has the token for all other commands.
      if (/clusterpass logout/.test(text)) {
        writeFileSync(join(runner.folder, 'admin.token'), server.adminToken, { mode: 0o600 });
        const login = await runner.shell(`clusterpass login --server ${server.url} --token-file admin.token`);
        expect(login.code, login.output).toBe(0);
      }
      const script = runner.localize(text).replaceAll('RkEm2pTSmmwLLLhIExcVnKNnyQGyZWRr9wHQyvDF0hc', key);
      const { code, output } = await runner.shell(script);
      expect(code, `${text}\n${output}`).toBe(0);
      await runner.shell('rm -f fleet.db');
    }
    expect((await server.call('GET', CLUSTERS)).code).toBe(200);
  });
});
