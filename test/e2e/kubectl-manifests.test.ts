import { beforeAll, describe, expect, it } from 'vitest';
import { describeWithKubectl, kubectl, kubectlOk } from './support/kubectl.ts';
import { createObjects, inNamespace } from './support/objects.ts';
import { tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** kubectl with manifests for a real cluster. */

const server = sharedTlsServer();

beforeAll(() => createObjects(server));

const ALPHA = { clusterPath: '/orchestrator/alpha' } as const;
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const POD = `
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: ci
  labels: {app: shop}
spec:
  serviceAccountName: builder
  restartPolicy: Always
  securityContext: {runAsNonRoot: true}
  initContainers:
  - name: migrate
    image: registry.example.com/shop:1
    command: [migrate]
  containers:
  - name: shop
    image: registry.example.com/shop:1
    ports: [{containerPort: 8080, name: http}]
    env:
    - {name: PASSWORD, value: pod-canary}
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: shop, key: token}}
    resources: {limits: {memory: 128Mi}}
    livenessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 5}
    volumeMounts: [{name: data, mountPath: /data}]
  - {name: sidecar, image: registry.example.com/sidecar:1}
  volumes:
  - {name: data, emptyDir: {}}
status: {}
`;
const POD_DROPPED = 'spec.restartPolicy, spec.securityContext, spec.initContainers, spec.containers, spec.volumes';

const SECRET = `
apiVersion: v1
kind: Secret
metadata: {name: shop, namespace: ci}
type: Opaque
data: {token: c2VjcmV0LWNhbmFyeQ==}
stringData: {password: secret-canary}
`;

const ACCOUNT = `
apiVersion: v1
kind: ServiceAccount
metadata:
  name: shop
  namespace: ci
  annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::111122223333:role/shop"}
automountServiceAccountToken: false
imagePullSecrets: [{name: registry}]
secrets: [{name: shop, kind: Secret, fieldPath: data}]
`;

const WARNED: Readonly<Record<string, string>> = {
  pod: `Pod; dropped: ${POD_DROPPED}`,
  secret: 'Secret; dropped: data, stringData',
  serviceaccount: 'ServiceAccount; dropped: secrets[0].fieldPath',
};

describeWithKubectl('S-10: kubectl with the manifest of a whole object, validated strictly', () => {
  it.each([
    ['pod', POD],
    ['secret', SECRET],
    ['serviceaccount', ACCOUNT],
  ])('%s: apply, replace, delete, create; one warning names the dropped fields', async (resource, stdin) => {
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await kubectl(server, [...args, '-f', '-'], { ...ALPHA, stdin });
      // kubectl reads YAML into a map, so it sends the fields in another order.
      const [warning = '', ...more] = stderr.trim().split('\n');
      expect([code, more]).toEqual([0, []]);
      const names = (text: string): string[] => (text.split('dropped: ')[1] ?? '').split(', ').sort();
      expect(names(warning)).toEqual(names(WARNED[resource] ?? ''));
      expect(warning).toMatch(/^Warning: Clusterpass keeps only a part of a /);
      return stdout;
    };
    expect(await run('apply')).toBe(`${resource}/shop created\n`);
    const { json: made } = await server.call('GET', `${inNamespace(`${resource}s`, 'ci')}/shop`);
    // The object here never has the dropped fields: kubectl sends them with every apply, and nothing changes.
    expect(await run('apply')).toBe(`${resource}/shop configured\n`);
    const { json: applied } = await server.call('GET', `${inNamespace(`${resource}s`, 'ci')}/shop`);
    expect(applied).toEqual(made);
    expect(applied.metadata.annotations[LAST_APPLIED]).not.toMatch(/containers|canary|c2VjcmV0|fieldPath/);
    expect(await run('replace')).toBe(`${resource}/shop replaced\n`);
    await kubectlOk(server, ['delete', resource, 'shop', '-n', 'ci'], ALPHA);
    expect(await run('create')).toBe(`${resource}/shop created\n`);
    const { text } = await server.call('GET', `${inNamespace(`${resource}s`, 'ci')}/shop`);
    expect(text).not.toMatch(/sidecar|initContainers|canary|c2VjcmV0|fieldPath/);
  });
});

const IN_CLUSTER = 'clusterpass.dev/in-cluster';
const account = (annotations: object, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'far', namespace: 'ci', annotations },
  ...rest,
});

describe('X-20: objects inside clusters, at the paths of the fleet', () => {
  const path = '/api/v1/namespaces/ci/serviceaccounts';

  it.each<[string, string, Record<string, string>, string]>([
    ['POST', path, {}, `../../../../orchestrator/beta${path}`],
    ['POST', `${path}/?dryRun=All&pretty=a%20b`, {}, `../../../../../orchestrator/beta${path}/?dryRun=All&pretty=a+b`],
    ['PUT', `${path}/far`, {}, `../../../../../orchestrator/beta${path}/far`],
    [
      'PATCH',
      `${path}/far`,
      { 'Content-Type': 'application/merge-patch+json' },
      `../../../../../orchestrator/beta${path}/far`,
    ],
  ])(
    '%s %s is redirected to the cluster that the body names, for every caller',
    async (method, at, headers, location) => {
      for (const token of [server.adminToken, tokenOf('jane')]) {
        const body = account({ [IN_CLUSTER]: 'beta' });
        const answer = await server.call(method, at, { body, headers, token });
        expect([answer.code, answer.headers.get('location')]).toEqual([307, location]);
        const target = new URL(location, `${server.url}${at}`).pathname;
        expect(target).toBe(`/orchestrator/beta${new URL(at, server.url).pathname}`);
      }
      expect((await server.call(method, at, { body: account({}), headers, token: null })).code).toBe(401);
    },
  );

  it.each<[string, object, number, string]>([
    [
      'no annotation',
      account({ other: 'beta' }),
      400,
      `a ServiceAccount lives inside a cluster: name it in the annotation ${IN_CLUSTER}`,
    ],
    [
      'a misspelled annotation',
      account({ 'clusterpass.dev/cluster': 'beta' }),
      422,
      'is not an annotation of a ServiceAccount',
    ],
    [
      'a cluster that is a path',
      account({ [IN_CLUSTER]: '../x' }),
      422,
      `metadata.annotations[${IN_CLUSTER}]: Invalid value`,
    ],
    [
      'another kind',
      { ...account({ [IN_CLUSTER]: 'beta' }), kind: 'Pod' },
      400,
      'cannot be handled as a ServiceAccount',
    ],
    ['no object', [], 400, 'cannot unmarshal array'],
  ])('%s: the error names what is missing', async (_, body, code, text) => {
    const answer = await server.call('POST', path, { body });
    expect([answer.code, answer.json.message]).toEqual([code, expect.stringContaining(text)]);
  });

  it.each([
    ['GET', path],
    ['GET', `${path}/far`],
    ['GET', '/api/v1/serviceaccounts?watch=true'],
    ['DELETE', `${path}/far`],
    ['DELETE', path],
    ['POST', '/api/v1/serviceaccounts'],
    ['POST', `${path}/far/token`],
  ])('%s %s: the error names the right path, for every caller', async (method, at) => {
    for (const token of [server.adminToken, tokenOf('jane')]) {
      const answer = await server.call(method, at, { token, ...(method === 'POST' ? { body: account({}) } : {}) });
      expect(answer.json).toMatchObject({
        code: 405,
        reason: 'MethodNotAllowed',
        message: expect.stringMatching(
          /^serviceaccounts live inside clusters: .*\/orchestrator\/CLUSTER.*--server-side/,
        ),
      });
    }
  });
});

describeWithKubectl('X-20: kubectl at the fleet, with objects inside clusters', () => {
  const there = `${inNamespace('serviceaccounts', 'ci', 'beta')}/far`;
  const stdin = (rest: object = {}): string => JSON.stringify(account({ [IN_CLUSTER]: 'beta' }, rest));

  it('create and replace find the cluster by the annotation', async () => {
    expect(await kubectlOk(server, ['create', '-f', '-'], { stdin: stdin() })).toBe('serviceaccount/far created\n');
    const changed = stdin({ automountServiceAccountToken: false });
    expect(await kubectlOk(server, ['replace', '-f', '-'], { stdin: changed })).toBe('serviceaccount/far replaced\n');
    expect((await server.call('GET', there)).json.automountServiceAccountToken).toBe(false);
    expect((await server.call('GET', `${inNamespace('serviceaccounts', 'ci', 'alpha')}/far`)).code).toBe(404);
  });

  it('the permission in the cluster counts', async () => {
    const { code, stderr } = await kubectl(server, ['create', '-f', '-'], { stdin: stdin(), token: tokenOf('jane') });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('User "jane" cannot create resource "serviceaccounts"'),
    ]);
  });

  it.each([
    ['apply', '-f', '-'],
    ['delete', '-f', '-'],
    ['diff', '-f', '-'],
    ['get', 'sa', '-n', 'ci'],
    ['create', 'token', 'far', '-n', 'ci'],
  ])('%s %s %s: says what to do', async (...args) => {
    const { code, stderr } = await kubectl(server, args, { stdin: stdin() });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(
      /serviceaccounts live inside clusters: send this request below .*kubectl apply --server-side/,
    );
  });
});

describeWithKubectl('server-side apply', () => {
  const role = (labels: object): string =>
    JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'mine', labels },
      // Not an empty list: as in Kubernetes it is stored as null, and differs from the list that is applied.
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    });
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/mine';
  const managersOf = async (): Promise<string[]> =>
    (await server.call('GET', path)).json.metadata.managedFields.map(
      ({ manager, operation }: { manager: string; operation: string }) => `${manager} ${operation}`,
    );

  it('S-10, X-20: at the fleet, with a whole pod: dropped fields have no manager', async () => {
    const stdin = POD.replace('name: shop', 'name: ssa').replace(
      'labels: {app: shop}',
      `labels: {app: shop}\n  annotations: {${IN_CLUSTER}: beta}`,
    );
    for (const _ of ['created', 'unchanged']) {
      const { code, stdout, stderr } = await kubectl(server, ['apply', '--server-side', '-f', '-'], { stdin });
      expect([code, stdout]).toEqual([0, 'pod/ssa serverside-applied\n']);
      expect(stderr).toMatch(/^Warning: Clusterpass keeps only a part of a Pod; dropped: .*spec\.containers/);
    }
    const { metadata } = (await server.call('GET', `${inNamespace('pods', 'ci', 'beta')}/ssa`)).json;
    expect(metadata.managedFields).toMatchObject([
      { manager: 'kubectl', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:serviceAccountName': {} } } },
    ]);
    expect(JSON.stringify(metadata)).not.toMatch(/containers|canary/);
  });

  it('AP-73: migrates from client-side apply', async () => {
    await kubectlOk(server, ['apply', '-f', '-'], { stdin: role({ a: '1', b: '1' }) });
    expect(await managersOf()).toEqual(['kubectl-client-side-apply Update']);
    await kubectlOk(server, ['apply', '--server-side', '-f', '-'], { stdin: role({ a: '2' }) });
    expect((await managersOf()).sort()).toEqual(['kubectl Apply', 'kubectl-last-applied Apply']);
    expect((await server.call('GET', path)).json.metadata.labels).toEqual({ a: '2' });
  });

  it('AP-75: diff --server-side shows what would change, and nothing changes', async () => {
    const diff = (labels: object) => kubectl(server, ['diff', '--server-side', '-f', '-'], { stdin: role(labels) });
    expect(await diff({ a: '2' })).toMatchObject({ code: 0, stdout: '' });
    const { code, stdout } = await diff({ a: '3' });
    const lines = stdout.split('\n').filter((text) => /^[-+] {4}\S/.test(text));
    expect([code, lines]).toEqual([1, ['-    a: "2"', '+    a: "3"']]);
    expect((await server.call('GET', path)).json.metadata.labels).toEqual({ a: '2' });
  });

  it('AP-76: get --show-managed-fields shows the managers', async () => {
    const get = (...args: string[]) => kubectlOk(server, ['get', 'clusterrole', 'mine', '-o', 'yaml', ...args]);
    expect(await get()).not.toContain('managedFields');
    expect(await get('--show-managed-fields')).toMatch(/managedFields:[\s\S]*manager: kubectl\n/);
  });
});
