import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { KUBECTL } from '../../scripts/programs.ts';
import { applyYaml } from '../e2e/support/apply.ts';
import { addCluster } from '../e2e/support/fleet.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { acceptTokens, type IdentityProvider, startProvider } from '../e2e/support/provider.ts';
import { sharedServer } from '../e2e/support/shared-server.ts';
import { type Manifest, misfitsOf, parseManifests } from '../helm/manifests.ts';
import { installClusterpass } from './support/clusterpass.ts';
import { fileOf } from './support/connect-pages.ts';

/** docs/connect/gitops.md: the commands of the tools run against a real server, with the token of a pod. */

const ADDRESS = 'https://api.prod-eu-1.example.com:6443';

let folder: string;
let management: IdentityProvider;
const server = sharedServer();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-gitops-'));
  management = await startProvider();
  const configuration = parse(fileOf('pods.yaml'));
  Object.assign(configuration.jwt[0].issuer, { url: management.url, certificateAuthority: management.ca });
  await acceptTokens(server, [management], stringify(configuration));
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: ADDRESS }];
  await addCluster(server, 'prod-eu-1', {
    labels: { env: 'prod' },
    spec: { orchestratorApiEndpoints: { serverEndpoints } },
  });
  const here = { 'clusterpass.dev/in-cluster': 'prod-eu-1' };
  const account = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gitops', annotations: here } },
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'deployer', namespace: 'gitops', annotations: here },
    },
  ];
  const objects = [...account.map((object) => stringify(object)), fileOf('gitops-rbac.yaml')].join('---\n');
  await applyYaml(server, objects);
  installClusterpass(folder);
});
afterAll(() => management.close());

/** The token that Kubernetes projects into a pod of this account, in a file. */
async function podToken(namespace: string, name: string): Promise<string> {
  const token = await management.sign({
    aud: ['https://clusterpass.example.com'],
    sub: `system:serviceaccount:${namespace}:${name}`,
    'kubernetes.io': { namespace, serviceaccount: { name, uid: `uid-${name}` } },
  });
  const file = join(folder, `${name}.token`);
  await writeFile(file, token, { mode: 0o600 });
  return file;
}

/** Not synchronous: the server asks the identity provider, which is in this process, for its keys. */
const run = async (command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
  const PATH = `${folder}:${dirname(KUBECTL)}:${process.env.PATH}`;
  const env = { PATH, HOME: folder, CLUSTERPASS_SERVER: server.url, ...more };
  return (await promisify(execFile)(command, args, { env })).stdout;
};

/** As client-go runs the plugin. */
const credentialOf = async (args: readonly string[], apiVersion: string, env = {}) => {
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  const credential = JSON.parse(await run('clusterpass', args, { KUBERNETES_EXEC_INFO: info, ...env }));
  expect(credential).toMatchObject({ apiVersion, kind: 'ExecCredential' });
  return decodeJwt(credential.status.token);
};

const DEPLOYER = { sub: 'system:serviceaccount:gitops:deployer' };

it.each(['gitops-rbac.yaml', 'argocd-patch.yaml', 'argocd-cluster.yaml', 'flux-renew.yaml'])(
  '%s has objects of Kubernetes',
  (file) => {
    const manifests = parseManifests(fileOf(file));
    expect(manifests.length).toBeGreaterThan(0);
    expect(manifests.flatMap(misfitsOf)).toEqual([]);
  },
);

describe('Argo CD', () => {
  it('gets a pass with the command of the cluster Secret', async () => {
    const { execProviderConfig } = JSON.parse(parse(fileOf('argocd-cluster.yaml')).stringData.config);
    expect(execProviderConfig.command).toBe('clusterpass');
    const mounted = '/var/run/secrets/clusterpass/token';
    expect(execProviderConfig.args).toContain(mounted);
    const file = await podToken('argocd', 'argocd-application-controller');
    const args = execProviderConfig.args.map((arg: string) => (arg === mounted ? file : arg));
    expect(await credentialOf(args, execProviderConfig.apiVersion)).toMatchObject(DEPLOYER);
  });
});

describe('Terraform', () => {
  it('gets a pass with the command of the provider', async () => {
    const text = fileOf('exec.tf');
    const args = JSON.parse(/args += (\[.*\])/.exec(text)?.[1] ?? '');
    const [, apiVersion = ''] = /api_version = "(.*)"/.exec(text) ?? [];
    const token = await readFile(await podToken('argocd', 'argocd-server'), 'utf8');
    expect(await credentialOf(args, apiVersion, { CLUSTERPASS_TOKEN: token })).toMatchObject(DEPLOYER);
  });
});

describeWithKubectl('the job for Flux', () => {
  it('makes a kubeconfig that needs no program', async () => {
    const job = parseManifests(fileOf('flux-renew.yaml')).find(({ kind }) => kind === 'CronJob') as Manifest;
    // biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models above
    const [container] = (job.spec as any).jobTemplate.spec.template.spec.containers;
    expect(container.command).toEqual(['sh', '-euc']);
    const token = await podToken('flux-system', 'clusterpass-renew');
    const script: string = container.args[0]
      .replaceAll('/tmp/', `${folder}/`)
      .replace('/var/run/secrets/clusterpass/token', token);
    const lines = script.trimEnd().split('\n');
    expect(lines.pop()).toMatch(/^kubectl --namespace flux-system patch secret prod-eu-1-kubeconfig /);
    await run('sh', ['-euc', lines.join('\n')]);
    const { metadata, data } = JSON.parse(await readFile(join(folder, 'secret.json'), 'utf8'));
    expect(metadata.name).toBe(parse(fileOf('flux-kustomization.yaml')).spec.kubeConfig.secretRef.name);
    const kubeconfig = parse(Buffer.from(data['value.yaml'], 'base64').toString());
    expect(kubeconfig.clusters[0].cluster.server).toBe(ADDRESS);
    expect(kubeconfig.users).toHaveLength(1);
    expect(kubeconfig.users[0].user).not.toHaveProperty('exec');
    expect(decodeJwt(kubeconfig.users[0].user.token)).toMatchObject(DEPLOYER);
    expect(kubeconfig['current-context']).toBe('prod-eu-1');
  });
});
