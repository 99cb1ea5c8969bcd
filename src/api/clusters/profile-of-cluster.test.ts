import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../kind.ts';
import { profileLabels, profileUid, toClusterProfile } from './profile-of-cluster.ts';

const SETTINGS = { manager: 'fleet-1', provider: 'clusterpass', properties: ['region', 'constructor'] };
const CREATED = '2026-01-01T00:00:00Z';
const UID = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

const cluster = (metadata: object = {}, status: object = {}): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'prod', uid: UID, creationTimestamp: CREATED, resourceVersion: '7', ...metadata },
  status,
});

const profile = (object = cluster(), server: string | undefined = 'https://prod:6443', caBundle?: string) =>
  toClusterProfile(object, SETTINGS, {
    version: 'v1alpha1',
    namespace: 'inventory',
    endpoints: caBundle === undefined ? {} : { caBundle },
    server,
    // biome-ignore lint/suspicious/noExplicitAny: the parts of a profile have no types
  }) as any;

describe('the profile of a cluster', () => {
  it('CP-70 to CP-73: name, namespace, uid, versions', () => {
    expect(profile(cluster({ annotations: { secret: 'x' }, finalizers: ['y'] })).metadata).toEqual({
      name: 'prod',
      namespace: 'inventory',
      uid: profileUid(UID, 'inventory'),
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: CREATED,
      labels: expect.anything(),
    });
    const deletionTimestamp = '2026-09-02T12:00:00Z';
    expect(profile(cluster({ deletionTimestamp })).metadata).toMatchObject({ deletionTimestamp });
    // RFC 9562 has this example of a UUIDv5, with the name space of DNS names.
    expect(profileUid(UID, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  });

  it.each<[string, Record<string, string> | undefined, string, string]>([
    ['its name', undefined, 'prod', 'prod'],
    ['its own label', { 'multicluster.x-k8s.io/inventory-member-id': 'm' }, 'prod', 'm'],
    ['its name, if that label is empty', { 'multicluster.x-k8s.io/inventory-member-id': '' }, 'prod', 'prod'],
    ['its uid, if the name is no label value', {}, 'a'.repeat(64), UID],
  ])('CP-74: the member id is %s', (_, labels, name, member) => {
    expect(profileLabels({ name, uid: UID, labels }, 'm')['multicluster.x-k8s.io/inventory-member-id']).toBe(member);
  });

  it('CP-74, CP-75: labels are those of the cluster, but for the manager; annotations are not shown', () => {
    const { metadata } = profile(cluster({ labels: { env: 'prod', 'x-k8s.io/cluster-manager': 'other' } }));
    expect(metadata.labels).toEqual({
      env: 'prod',
      'x-k8s.io/cluster-manager': 'fleet-1',
      'multicluster.x-k8s.io/inventory-member-id': 'prod',
    });
    expect(metadata.annotations).toBeUndefined();
  });

  it('CP-76, CP-77: display name and manager', () => {
    expect(profile().spec).toEqual({ displayName: 'prod', clusterManager: { name: 'fleet-1' } });
  });

  it.each<[object | undefined, object]>([
    [undefined, { status: 'Unknown', reason: 'NotReported', message: '', lastTransitionTime: CREATED }],
    [
      { status: 'False', reason: 'ProbeFailed', message: 'm', lastTransitionTime: 't', lastHeartbeatTime: 'h' },
      { status: 'False', reason: 'ProbeFailed', message: 'm', lastTransitionTime: 't' },
    ],
    [{ status: 'True' }, { status: 'True', reason: 'Reported', message: '', lastTransitionTime: CREATED }],
    [
      { status: 'True', reason: 'two words', message: 'x'.repeat(2_000) },
      { status: 'True', reason: 'Reported', message: 'x'.repeat(1_024), lastTransitionTime: CREATED },
    ],
    [
      // Half a surrogate pair would come back from the hub as U+FFFD, and look like a change for ever.
      { status: 'True', reason: 'Up', message: `${'x'.repeat(1_023)}\u{1f600}` },
      { status: 'True', reason: 'Up', message: `${'x'.repeat(1_023)}\ufffd`, lastTransitionTime: CREATED },
    ],
  ])('CP-78: Ready %j becomes ControlPlaneHealthy', (ready, healthy) => {
    const conditions = [
      { type: 'Other', status: 'True' },
      ...(ready === undefined ? [] : [{ type: 'Ready', ...ready }]),
    ];
    expect(profile(cluster({}, { conditions })).status.conditions[0]).toEqual({
      type: 'ControlPlaneHealthy',
      ...healthy,
    });
  });

  it('CP-79: a registered cluster has joined, and no other condition is shown', () => {
    const { conditions } = profile(cluster({}, { conditions: [{ type: 'Other', status: 'True' }] })).status;
    expect(conditions.map(({ type, status }: { type: string; status: string }) => [type, status])).toEqual([
      ['ControlPlaneHealthy', 'Unknown'],
      ['Joined', 'True'],
    ]);
    expect(conditions[1]).toMatchObject({ reason: 'Registered', lastTransitionTime: CREATED });
  });

  it('CP-80, CP-81: version and properties, without empty ones', () => {
    const labels = { region: 'eu', 'clusterset.k8s.io': 'all', 'cluster.clusterset.k8s.io': '', other: 'x' };
    const { version, properties } = profile(cluster({ labels }, { version: 'v1.36.4', type: 'EKS' })).status;
    expect(version).toEqual({ kubernetes: 'v1.36.4' });
    expect(properties).toEqual([
      { name: 'clusterset.k8s.io', value: 'all' },
      { name: 'region', value: 'eu' },
      { name: 'clusterpass.dev/type', value: 'EKS' },
    ]);
    expect(Object.keys(profile().status)).toEqual(['conditions', 'accessProviders']);
  });

  it('CP-82 to CP-85: one access provider with address, CA and the name of the cluster', () => {
    expect(profile(cluster(), 'https://prod:6443', 'Q0E=').status.accessProviders).toEqual([
      {
        name: 'clusterpass',
        cluster: {
          server: 'https://prod:6443',
          'certificate-authority-data': 'Q0E=',
          extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { clusterName: 'prod' } }],
        },
      },
    ]);
    const withoutAddress = toClusterProfile(cluster(), SETTINGS, {
      version: 'v1alpha2',
      namespace: 'x',
      endpoints: { caBundle: 'Q0E=' },
      server: undefined,
    });
    expect(withoutAddress).toMatchObject({ apiVersion: 'multicluster.x-k8s.io/v1alpha2', kind: 'ClusterProfile' });
    expect(withoutAddress.status).not.toHaveProperty('accessProviders');
  });
});
