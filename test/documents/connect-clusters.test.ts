import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { KUBECTL } from '../../scripts/programs.ts';
import { authenticationConfiguration } from '../../src/api/clusters/trust-configuration.ts';
import { compileClaimsExpression, compileUserExpression } from '../../src/authn/jwt/cel.ts';
import { mapClaims } from '../../src/authn/jwt/map-claims.ts';
import { readAuthenticationConfig } from '../../src/authn/jwt/read-configuration.ts';
import { buildClaims } from '../../src/tokens/claims.ts';
import { grantOf } from '../../src/tokens/tokens.fixture.ts';
import { applyYaml } from '../e2e/support/apply.ts';
import { Person } from '../e2e/support/cli.ts';
import { addCluster } from '../e2e/support/fleet.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { TLS } from '../e2e/support/server.ts';
import { sharedTlsServer } from '../e2e/support/shared-server.ts';
import { misfitsOf, parseManifests } from '../helm/manifests.ts';
import { fileOf } from './support/connect-pages.ts';

/** docs/connect/managed-clusters.md and self-managed-clusters.md. */

it.each(['issuer.yaml', 'eks-binding.yaml'])('%s has objects of Kubernetes', (file) => {
  const manifests = parseManifests(fileOf(file));
  expect(manifests.length).toBeGreaterThan(0);
  expect(manifests.flatMap(misfitsOf)).toEqual([]);
});

it('talos-authentication.yaml has the entry that `clusterpass trust` writes', () => {
  const issuer = 'https://clusterpass.example.com/orchestrator/prod-eu-1';
  const options = { cluster: 'prod-eu-1', issuer, audience: issuer, certificateAuthority: undefined };
  const { jwt } = parse(authenticationConfiguration({ ...options, reasonForNoCa: 'public', allowedNamespaces: [] }));
  expect(parse(fileOf('talos-authentication.yaml')).configuration.jwt).toEqual(jwt);
});

it('a file of a static pod is mounted where the flag says', () => {
  const { extraArgs, extraVolumes } = parse(fileOf('kubeadm.yaml')).apiServer;
  expect(extraVolumes[0].mountPath).toBe(dirname(extraArgs[0].value));
  const rke2 = parse(fileOf('rke2-config.yaml'));
  const [, mounted] = rke2['kube-apiserver-extra-mount'][0].split(':');
  const [, file] = rke2['kube-apiserver-arg'][0].split('=');
  expect(mounted).toBe(dirname(file));
});

describe('aks-clusterpass.json', () => {
  const entry = JSON.parse(fileOf('aks-clusterpass.json'));
  const configuration = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt: [entry] };
  const [config] = readAuthenticationConfig(Buffer.from(JSON.stringify(configuration)), { isOurs: () => false });
  const claimsOf = (namespace: string): Record<string, unknown> => ({ ...buildClaims(grantOf({ namespace })) });
  const userOf = (claims: Record<string, unknown>) => config && mapClaims(config.mappings, claims);

  it('gives a pass a name that AKS allows', () => {
    expect(userOf(claimsOf('ci'))).toMatchObject({
      name: 'aks:jwt:system:serviceaccount:ci:builder',
      groups: ['aks:jwt:serviceaccounts:ci', 'system:authenticated'],
      uid: 'uid-account',
    });
  });

  it('refuses accounts of kube-system, and a name that differs from the account', () => {
    expect(() => userOf(claimsOf('kube-system'))).toThrow('no accounts of kube-system');
    const other = { ...claimsOf('ci'), sub: 'system:serviceaccount:ci:admin' };
    expect(() => userOf(other)).toThrow('sub must name the service account');
  });

  it('uses expressions only, as AKS demands', () => {
    const { claimMappings, claimValidationRules, userValidationRules } = entry;
    for (const { expression } of [...Object.values<{ expression: string }>(claimMappings), ...claimValidationRules]) {
      compileClaimsExpression(expression);
    }
    for (const { expression } of userValidationRules) compileUserExpression(expression);
  });
});

describeWithKubectl('renew-credentials.sh', () => {
  let folder: string;
  let credential: string;
  const server = sharedTlsServer();

  /** A server of this project stands for the cluster: it serves the same TokenRequest API. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-renew-'));
    credential = join(folder, 'credentials/fleet/prod-eu-1');
    await addCluster(server, 'alpha');
    const admin = await Person.at({
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: server.adminToken,
      CLUSTERPASS_CA: TLS.caFile,
    });
    // Here accounts name their cluster, and rules are of the whole fleet.
    const files = parseManifests(fileOf('issuer.yaml')).map((object) =>
      /Role/.test(object.kind)
        ? object
        : { ...object, metadata: { ...object.metadata, annotations: { 'clusterpass.dev/in-cluster': 'alpha' } } },
    );
    await applyYaml(server, files.map((object) => stringify(object)).join('---\n'));
    await mkdir(credential, { recursive: true });
    const token = await admin.ok(['create', 'token', 'issuer', '-n', 'clusterpass', '--cluster', 'alpha']);
    await writeFile(join(credential, 'token'), token, { mode: 0o600 });
    await copyFile(TLS.caFile, join(credential, 'ca.crt'));
    const kubeconfig = parse(fileOf('kubeconfig.yaml'));
    kubeconfig.clusters[0].cluster.server = `${server.url}/orchestrator/alpha`;
    await writeFile(join(credential, 'kubeconfig.yaml'), stringify(kubeconfig));
    await writeFile(join(folder, 'renew-credentials.sh'), fileOf('renew-credentials.sh'));
    await chmod(join(folder, 'renew-credentials.sh'), 0o755);
  });

  const renew = () =>
    spawnSync('sh', [join(folder, 'renew-credentials.sh'), join(folder, 'credentials')], {
      encoding: 'utf8',
      env: { PATH: `${dirname(KUBECTL)}:${process.env.PATH}`, HOME: folder },
    });
  const tokenNow = () => readFile(join(credential, 'token'), 'utf8');

  it('replaces the token with one of the same account, each time', async () => {
    const seen = new Set([await tokenNow()]);
    for (const time of [1, 2]) {
      const { status, stderr } = renew();
      expect([status, stderr], `renewal ${time}`).toEqual([0, '']);
      seen.add(await tokenNow());
    }
    expect(seen.size).toBe(3);
    expect(decodeJwt(await tokenNow()).sub).toBe('system:serviceaccount:clusterpass:issuer');
    expect((await stat(join(credential, 'token'))).mode & 0o777).toBe(0o600);
  });

  it('keeps the token of a cluster that does not answer, and says so', async () => {
    const before = await tokenNow();
    await server.stop();
    const { status, stderr } = renew();
    expect(status).toBe(1);
    expect(stderr).toContain('not renewed: ');
    expect(await tokenNow()).toBe(before);
  });
});
