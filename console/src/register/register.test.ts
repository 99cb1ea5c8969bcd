import { expect, it } from 'vitest';
import { draftedCluster, labelProblem, missingField, NEW_CLUSTER } from './cluster-draft.ts';
import { readKubeconfig } from './read-kubeconfig.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const kubeconfig = `
apiVersion: v1
kind: Config
current-context: two
clusters:
- {name: a, cluster: {server: 'https://a:6443', certificate-authority-data: ${btoa(PEM)}}}
- {name: b, cluster: {server: 'https://b:6443', insecure-skip-tls-verify: true}}
- {name: c, cluster: {server: 'https://c:6443', certificate-authority: /etc/ca.crt}}
contexts:
- {name: one, context: {cluster: a, user: secret}}
- {name: two, context: {cluster: b, user: secret}}
- {name: three, context: {cluster: c, user: secret}}
- {name: broken, context: {cluster: no-such, user: secret}}
users:
- {name: secret, user: {token: t0p-secret}}
`;

it('reads address and CA of each context of a kubeconfig, and no credential', async () => {
  const read = await readKubeconfig(kubeconfig);
  expect(read.current).toBe('two');
  expect(read.entries.map(({ context, server, ca }) => [context, server, ca])).toEqual([
    ['one', 'https://a:6443', PEM],
    ['two', 'https://b:6443', ''],
    ['three', 'https://c:6443', ''],
  ]);
  expect(read.entries[1]?.note).toContain('does not verify');
  expect(read.entries[2]?.note).toContain('/etc/ca.crt');
  expect(JSON.stringify(read)).not.toContain('t0p-secret');
});

it.each(['', 'text', '[1', '{clusters: 7, contexts: [null, 3]}'])('%j is no kubeconfig', async (text) => {
  await expect(readKubeconfig(text)).rejects.toThrow('This is not a kubeconfig');
});

it('writes the object that clusterpass register writes', () => {
  const draft = { ...NEW_CLUSTER, name: 'a', address: 'https://a:6443', ca: ` ${PEM}\n` };
  expect(draftedCluster({ ...draft, labels: [{ key: 'env', value: 'prod' }] }, 'orchestrator')).toEqual({
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'a', labels: { env: 'prod' } },
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [
          { clientCIDR: '0.0.0.0/0', serverAddress: 'https://a:6443' },
          { clientCIDR: '::/0', serverAddress: 'https://a:6443' },
        ],
        caBundle: btoa(PEM),
      },
    },
  });
  expect(draftedCluster({ ...draft, ca: '', clientCidrs: ' 10.0.0.0/8, ,::/0' }, 'orchestrator')).toMatchObject({
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [
          { clientCIDR: '10.0.0.0/8', serverAddress: 'https://a:6443' },
          { clientCIDR: '::/0', serverAddress: 'https://a:6443' },
        ],
      },
    },
  });
});

it('says what is missing', () => {
  expect(missingField(NEW_CLUSTER)).toContain('name');
  expect(missingField({ ...NEW_CLUSTER, name: 'a' })).toContain('address');
  expect(missingField({ ...NEW_CLUSTER, name: 'a', address: 'https://a' })).toBe('');
  expect(labelProblem([{ key: '', value: 'x' }])).toContain('key');
  expect(labelProblem([1, 2].map((value) => ({ key: 'env', value: String(value) })))).toContain('twice');
});
