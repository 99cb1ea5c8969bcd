import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../api/kind.ts';
import type { ClusterCondition, ClusterStatus } from '../../api/kinds/cluster.ts';
import { ABANDONED, identityOf, isAbandoned, isNews, isProbed, storedVerdict, withObservation } from './readiness.ts';

const FIELD = 'orchestratorApiEndpoints';
const SPEC = { [FIELD]: { serverEndpoints: [{ serverAddress: 'https://10.0.0.1:6443' }] } };
const OURS: ClusterCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'ProbeTLSFailed',
  message: 'm',
  lastHeartbeatTime: '2026-01-01T00:00:00Z',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const THEIRS: ClusterCondition = { type: 'Ready', status: 'True', reason: 'NodesReady' };
const USABLE: ClusterCondition = { type: 'CredentialUsable', status: 'True', reason: 'Confirmed' };

const cluster = (status: ClusterStatus = {}, probe?: string, spec: object = SPEC): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: {
    name: 'a',
    uid: 'u',
    generation: 1,
    ...(probe === undefined ? {} : { annotations: { 'clusterpass.dev/probe': probe } }),
  },
  spec,
  status,
});

const READY = { status: 'True', reason: 'ProbeSucceeded', message: 'fine' } as const;
const seen = (version?: string) => ({ verdict: READY, version, at: '2026-01-02T00:00:00Z' });
const statusOf = (object: ApiObject): ClusterStatus => object.status as ClusterStatus;

describe('which clusters are looked at', () => {
  it.each([
    ['one that nobody has judged', cluster(), true],
    ['one that the prober has judged', cluster({ conditions: [OURS] }), true],
    ['one that somebody else judges', cluster({ conditions: [THEIRS] }), false],
    [
      'one that somebody else judged without a reason',
      cluster({ conditions: [{ type: 'Ready', status: 'True' }] }),
      false,
    ],
    ['one that somebody else judges, taken over by annotation', cluster({ conditions: [THEIRS] }, 'enabled'), true],
    ['one that is left out by annotation', cluster({ conditions: [OURS] }, 'disabled'), false],
    ['one without an address', cluster({}, undefined, {}), false],
    ['one whose address was taken away', cluster({ conditions: [OURS] }, undefined, {}), true],
    ['one that has other conditions only', cluster({ conditions: [USABLE] }), true],
  ])('%s', (_, object, expected) => {
    expect(isProbed(object, FIELD)).toBe(expected);
  });

  it('leaves one alone that is being deleted', () => {
    const object = cluster();
    object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(isProbed(object, FIELD)).toBe(false);
  });
});

describe('what is written', () => {
  it('takes the place of our own condition and leaves those of others, in their order', () => {
    const next = withObservation(
      cluster({ conditions: [USABLE, OURS, { type: 'X', status: 'False' }] }),
      seen('v1.36.4'),
    );
    expect(statusOf(next).conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'CredentialUsable True',
      'Ready True',
      'X False',
    ]);
    expect(statusOf(next).conditions?.[0]).toEqual(USABLE);
  });

  it('moves the time of transition only when the status changes', () => {
    const changed = withObservation(cluster({ conditions: [OURS] }), seen());
    expect(statusOf(changed).conditions?.[0]?.lastTransitionTime).toBe('2026-01-02T00:00:00Z');
    const later = { ...seen(), at: '2026-01-03T00:00:00Z' };
    const same = statusOf(withObservation(changed, later)).conditions?.[0];
    expect([same?.lastTransitionTime, same?.lastHeartbeatTime]).toEqual([
      '2026-01-02T00:00:00Z',
      '2026-01-03T00:00:00Z',
    ]);
  });

  it('does not touch a condition that has come to belong to somebody else', () => {
    const object = cluster({ conditions: [THEIRS] });
    expect(withObservation(object, seen('v1.36.4'))).toBe(object);
  });

  it('says once that nobody looks any more, and only where the prober had spoken', () => {
    const left = cluster({ conditions: [OURS] }, 'disabled');
    expect(isAbandoned(left)).toBe(true);
    const said = withObservation(left, { ...seen(), verdict: ABANDONED });
    expect(statusOf(said).conditions?.[0]).toMatchObject({ status: 'Unknown', reason: 'ProbeDisabled' });
    expect(isAbandoned(said)).toBe(false);
    expect(isAbandoned(cluster({ conditions: [THEIRS] }, 'disabled'))).toBe(false);
  });

  it.each([
    [undefined, 'v1.36.4', 'Kubernetes'],
    ['Talos', 'v1.36.4', 'Talos'],
    ['Kubernetes', 'v1.36.4+k3s1', 'k3s'],
    [undefined, 'v1.36.4-eks-1a2b3c', 'EKS'],
  ])('a cluster of type %s that runs %s has the type %s', (type, version, expected) => {
    const next = withObservation(cluster(type === undefined ? {} : { type }), seen(version));
    expect(statusOf(next)).toMatchObject({ version, type: expected });
  });

  it('keeps the version of a cluster that does not tell it', () => {
    expect(statusOf(withObservation(cluster({ version: 'v1' }), seen()))).toMatchObject({ version: 'v1' });
  });
});

describe('what is news', () => {
  const stored = withObservation(cluster(), seen('v1.36.4'));

  it('is another status, reason, version or type, and not another time or another wording', () => {
    const later = { verdict: { ...READY, message: 'other words' }, version: 'v1.36.4' };
    expect(isNews(stored, later)).toBe(false);
    expect(isNews(stored, { ...later, version: undefined })).toBe(false);
    expect(isNews(stored, { ...later, version: 'v1.36.5' })).toBe(true);
    expect(isNews(stored, { ...later, verdict: { ...READY, reason: 'ProbeX' } })).toBe(true);
    expect(isNews(cluster(), later)).toBe(true);
  });
});

describe('what is known of before', () => {
  it('is what the prober wrote, and nothing that somebody else did', () => {
    expect(storedVerdict(cluster({ conditions: [OURS] }))).toEqual({
      status: 'False',
      reason: 'ProbeTLSFailed',
      message: 'm',
    });
    expect(storedVerdict(cluster({ conditions: [THEIRS] }))).toBeUndefined();
  });

  it('is outdated by a change of the spec or of our annotations, not by labels', () => {
    const before = identityOf(cluster());
    const relabelled = cluster();
    relabelled.metadata.labels = { a: 'b' };
    const moved = cluster();
    moved.metadata.generation = 2;
    expect([relabelled, moved, cluster({}, 'enabled')].map((object) => identityOf(object) === before)).toEqual([
      true,
      false,
      false,
    ]);
  });
});
