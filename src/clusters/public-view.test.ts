import { describe, expect, it } from 'vitest';
import { CONFIRMED_ANNOTATION, endpointDigest } from '../api/clusters/confirmed-endpoint.ts';
import { createPublicView } from './public-view.ts';

const view = createPublicView({
  productName: 'orchestrator',
  issuerOf: (cluster) => `https://passes.example/orchestrator/${cluster}`,
  maxExpirationSeconds: 3_600,
  issuesOwnTokens: ({ spec }) => JSON.stringify(spec)?.includes('controller') === true,
});
const CLUSTER = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
const COMPUTED = {
  'clusterpass.dev/issuer': 'https://passes.example/orchestrator/a',
  'clusterpass.dev/audience': 'https://passes.example/orchestrator/a',
  'clusterpass.dev/max-expiration-seconds': '3600',
};

describe('the public view of a cluster', () => {
  it('has the fields of the allow-list', () => {
    const shown = {
      ...CLUSTER,
      metadata: {
        name: 'a',
        uid: 'u',
        labels: { env: 'dev' },
        annotations: { 'example.com/note': 'x', 'clusterpass.dev/token-checks': 'webhook' },
        creationTimestamp: '2026-09-01T12:00:00Z',
        deletionTimestamp: '2026-09-02T12:00:00Z',
        generation: 3,
        resourceVersion: '7',
      },
      spec: { orchestratorApiEndpoints: { caBundle: 'Y2E=', serverEndpoints: [] } },
      status: { version: 'v1', conditions: [] },
    };
    const expected = structuredClone(shown);
    Object.assign(expected.metadata.annotations, COMPUTED);
    expect(view(shown)).toEqual(expected);
  });

  it('has no other field', () => {
    const hidden = {
      ...CLUSTER,
      metadata: {
        name: 'a',
        generateName: 'hidden',
        namespace: 'hidden',
        selfLink: 'hidden',
        deletionGracePeriodSeconds: 1,
        finalizers: ['hidden'],
        ownerReferences: [{ apiVersion: 'hidden', kind: 'hidden', name: 'hidden', uid: 'hidden' }],
        managedFields: [{ manager: 'hidden' }],
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': 'hidden',
          'clusterpass.dev/anything': 'hidden',
          // Computed annotations cannot be forged.
          'clusterpass.dev/issuer': 'hidden',
        },
        inventedLater: 'hidden',
      },
      spec: { authInfo: { user: { name: 'hidden' } }, kubernetesApiEndpoints: 'hidden', inventedLater: 'hidden' },
      data: 'hidden',
    };
    expect(view(hidden)).toEqual({ ...CLUSTER, metadata: { name: 'a', annotations: COMPUTED } });
  });

  it('has the confirmed endpoints, also while a change or a removal of them waits', () => {
    const at = (serverAddress: string) => ({ serverEndpoints: [{ clientCIDR: '', serverAddress }] });
    const confirmedEndpoints = at('https://10.0.0.1');
    for (const changed of [{}, { orchestratorApiEndpoints: at('https://attacker.example') }]) {
      const shown = view({ ...CLUSTER, metadata: { name: 'a' }, spec: { ...changed, confirmedEndpoints } });
      expect(shown.spec).toEqual({ orchestratorApiEndpoints: confirmedEndpoints });
    }
  });

  it('A14: says of the endpoints in force whether they are confirmed, and no writer of the annotation can', () => {
    const key = 'clusterpass.dev/endpoints-confirmed';
    const cluster = { ...CLUSTER, metadata: { name: 'a' }, spec: { orchestratorApiEndpoints: { caBundle: 'Y2E=' } } };
    const digest = endpointDigest(cluster, 'orchestrator');
    const withAnnotation = (name: string, value: string, spec: object = cluster.spec) =>
      view({ ...cluster, spec, metadata: { name: 'a', annotations: { [name]: value } } }).metadata.annotations?.[key];
    expect(withAnnotation(CONFIRMED_ANNOTATION, digest)).toBe('true');
    expect(withAnnotation(CONFIRMED_ANNOTATION, digest, {})).toBeUndefined();
    expect(withAnnotation(key, 'true')).toBeUndefined();
  });

  it('omits issuer and audience of a cluster that issues its own tokens', () => {
    const spec = { authInfo: { controller: { namespace: 'a', name: 'b' } } };
    expect(view({ ...CLUSTER, metadata: { name: 'a' }, spec }).metadata.annotations).toEqual({
      'clusterpass.dev/max-expiration-seconds': '3600',
    });
  });

  it('does not change the object', () => {
    const object = { ...CLUSTER, metadata: { name: 'a', annotations: { note: 'x' } }, spec: { authInfo: {} } };
    const before = structuredClone(object);
    view(object);
    expect(object).toEqual(before);
  });
});
