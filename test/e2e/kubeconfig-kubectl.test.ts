import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KUBECTL } from '../../scripts/setup-kubectl.mjs';
import { addCluster } from './support/fleet.ts';
import { describeWithKubectl } from './support/kubectl.ts';
import { openSecondDoor } from './support/second-door.ts';
import { type Server, startServer, TLS } from './support/server.ts';

const run = promisify(execFile);

/** Says what it was called with, and gives the token that it finds in its environment. */
const PLUGIN = `#!/bin/sh
echo "$@" > "$HOME/called-with"
echo "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"$TOKEN\\"}}"
`;

describeWithKubectl('kubectl with the kubeconfig of a cluster', () => {
  let server: Server;
  let door: Awaited<ReturnType<typeof openSecondDoor>>;
  let home: string;

  beforeAll(async () => {
    server = await startServer({ tls: true, args: ['--allow-upstream-cidr', '127.0.0.0/8'] });
    door = await openSecondDoor(server.url);
    home = await mkdtemp(join(tmpdir(), 'clusterpass-kubeconfig-'));
    await writeFile(join(home, 'clusterpass'), PLUGIN, { mode: 0o755 });
    // A cluster is reached without a path, and so is the fleet: it stands in for the cluster's API.
    const caBundle = (await readFile(TLS.caFile)).toString('base64');
    const serverEndpoints = [
      { clientCIDR: '10.0.0.0/8', serverAddress: 'https://unreachable.example.com' },
      { clientCIDR: '127.0.0.0/8', serverAddress: door.url },
    ];
    await addCluster(server, 'alpha', { spec: { orchestratorApiEndpoints: { serverEndpoints, caBundle } } });
  });
  afterAll(async () => {
    await door.close();
    await server.destroy();
    await rm(home, { recursive: true, force: true });
  });

  it.each(['application/json', 'application/yaml'])(
    '%s: gets a token by the program and reaches it',
    async (Accept) => {
      const file = join(home, 'config');
      const { text } = await server.call('GET', '/auth/v1/clusters/alpha/kubeconfig?as=ci/builder', {
        headers: { Accept },
      });
      await writeFile(file, text, { mode: 0o600 });
      const env = { PATH: `${home}:${process.env.PATH}`, HOME: home, KUBECONFIG: file, TOKEN: server.adminToken };
      const kubectl = async (...args: string[]) => (await run(KUBECTL, args, { env })).stdout;

      expect(await kubectl('config', 'current-context')).toBe('alpha\n');
      expect(await kubectl('config', 'view', '--minify', '-o', 'jsonpath={..namespace}')).toBe('ci');
      expect(await kubectl('get', 'clusters', '-o', 'name')).toBe('cluster.clusterregistry.k8s.io/alpha\n');
      expect(await readFile(join(home, 'called-with'), 'utf8')).toBe(
        `credential --server ${server.url} --cluster alpha --namespace ci --service-account builder\n`,
      );
    },
  );
});
