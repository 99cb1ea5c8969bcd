import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithKubectl, kubectl, kubectlOk } from './support/kubectl.ts';
import { createObjects, inNamespace } from './support/objects.ts';
import { type Server, startServer } from './support/server.ts';

/** kubectl writes manifests as people have them for a real cluster. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ tls: true });
  await createObjects(server);
});
afterAll(() => server.destroy());

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
  ])('%s: apply, replace, delete, create; one warning names what is dropped', async (resource, stdin) => {
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
    expect(text).not.toMatch(/containers|canary|c2VjcmV0|fieldPath/);
  });

  it('a pod is the one of its account, and its containers may change', async () => {
    const path = `${inNamespace('pods', 'ci')}/shop`;
    const changed = POD.replace('- {name: sidecar', '- {name: proxy').replace('app: shop', 'app: store');
    const { code, stdout } = await kubectl(server, ['apply', '-f', '-'], { ...ALPHA, stdin: changed });
    expect([code, stdout]).toEqual([0, 'pod/shop configured\n']);
    expect((await server.call('GET', path)).json).toMatchObject({
      metadata: { labels: { app: 'store' } },
      spec: { serviceAccountName: 'builder' },
    });
  });

  it('a misspelled field that is kept, or of the metadata, is refused', async () => {
    for (const [right, wrong] of [
      ['serviceAccountName', 'serviceAcountName'],
      ['labels:', 'lables:'],
    ] as const) {
      const stdin = POD.replace(right, wrong);
      const { code, stderr } = await kubectl(server, ['apply', '-f', '-'], { ...ALPHA, stdin });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/strict decoding error: unknown field/)]);
    }
  });
});
