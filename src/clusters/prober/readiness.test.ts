import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../api/kind.ts';
import type { ClusterCondition, ClusterStatus } from '../../api/kinds/cluster-spec.ts';
import {
  changesStatus,
  DISABLED,
  isProbed,
  needsDisabledVerdict,
  probeIdentity,
  storedVerdict,
  withObservation,
} from './readiness.ts';

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

describe('which clusters are probed', () => {
  it.each([
    ['one without a condition', cluster(), true],
    ['one with a condition of the prober', cluster({ conditions: [OURS] }), true],
    ['one with a condition of another controller', cluster({ conditions: [THEIRS] }), false],
    ['one with a condition without a reason', cluster({ conditions: [{ type: 'Ready', status: 'True' }] }), false],
    [
      'one with a condition of another controller, enabled by annotation',
      cluster({ conditions: [THEIRS] }, 'enabled'),
      true,
    ],
    ['one that is disabled by annotation', cluster({ conditions: [OURS] }, 'disabled'), false],
    ['one without an address', cluster({}, undefined, {}), false],
    ['one whose address was removed', cluster({ conditions: [OURS] }, undefined, {}), true],
    ['one with other conditions only', cluster({ conditions: [USABLE] }), true],
  ])('%s', (_, object, expected) => {
    expect(isProbed(object, FIELD)).toBe(expected);
  });

  it('not one that is being deleted', () => {
    const object = cluster();
    object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(isProbed(object, FIELD)).toBe(false);
  });
});

describe('what is written', () => {
  it('replaces our own condition and keeps the others, in their order', () => {
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

  it('does not change a condition of another controller', () => {
    const object = cluster({ conditions: [THEIRS] });
    expect(withObservation(object, seen('v1.36.4'))).toBe(object);
  });

  it('sets ProbeDisabled once, and only on a condition of the prober', () => {
    const disabled = cluster({ conditions: [OURS] }, 'disabled');
    expect(needsDisabledVerdict(disabled)).toBe(true);
    const written = withObservation(disabled, { ...seen(), verdict: DISABLED });
    expect(statusOf(written).conditions?.[0]).toMatchObject({ status: 'Unknown', reason: 'ProbeDisabled' });
    expect(needsDisabledVerdict(written)).toBe(false);
    expect(needsDisabledVerdict(cluster({ conditions: [THEIRS] }, 'disabled'))).toBe(false);
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
});

describe('a change of the status', () => {
  const stored = withObservation(cluster(), seen('v1.36.4'));

  it('is another status, reason, version or type, but not another time or message', () => {
    const later = { verdict: { ...READY, message: 'another message' }, version: 'v1.36.4' };
    expect(changesStatus(stored, later)).toBe(false);
    expect(changesStatus(stored, { ...later, version: undefined })).toBe(false);
    expect(changesStatus(stored, { ...later, version: 'v1.36.5' })).toBe(true);
    expect(changesStatus(stored, { ...later, verdict: { ...READY, reason: 'ProbeX' } })).toBe(true);
    expect(changesStatus(cluster(), later)).toBe(true);
  });
});

describe('the stored verdict', () => {
  it('is what the prober wrote, not what another controller wrote', () => {
    expect(storedVerdict(cluster({ conditions: [OURS] }))).toEqual({
      status: 'False',
      reason: 'ProbeTLSFailed',
      message: 'm',
    });
    expect(storedVerdict(cluster({ conditions: [THEIRS] }))).toBeUndefined();
  });

  it('is outdated by a change of the spec or of our annotations, not of labels', () => {
    const before = probeIdentity(cluster());
    const relabelled = cluster();
    relabelled.metadata.labels = { a: 'b' };
    const moved = cluster();
    moved.metadata.generation = 2;
    expect([relabelled, moved, cluster({}, 'enabled')].map((object) => probeIdentity(object) === before)).toEqual([
      true,
      false,
      false,
    ]);
  });
});
