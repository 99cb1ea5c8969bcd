import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import { refusalIfAny } from '../../api/refusal.fixture.ts';
import { binding, Fleet, person, role } from '../policy/rbac.fixture.ts';
import { checkAnnotations } from './admission.ts';

const { clusters, namespaces } = createCatalog({ productName: 'orchestrator' });
const cluster = (mark?: string): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'a', ...(mark === undefined ? {} : { annotations: { 'clusterpass.dev/imported-from': mark } }) },
});
const may = (...verbs: string[]): Fleet =>
  new Fleet().put(
    role('r', [{ verbs, apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }]),
    binding('b', 'ClusterRole/r', ['User:carl']),
  );
const refusal = (fleet: Fleet, after: ApiObject, before?: ApiObject, kind = clusters): string | undefined =>
  refusalIfAny(() => checkAnnotations(fleet.policy, person('carl'), kind, after, before))?.message;

describe('A49: the mark of an import', () => {
  it('of an existing cluster is set and changed only with the permission to delete the cluster', () => {
    for (const before of [cluster(), cluster('capi/hub/team/b')]) {
      expect(refusal(may('update'), cluster('capi/hub/team/a'), before)).toContain('cannot delete resource "clusters"');
      expect(refusal(may('delete'), cluster('capi/hub/team/a'), before)).toBeUndefined();
    }
  });

  it('stays, is removed, and is on a new cluster, without it', () => {
    const marked = cluster('capi/hub/team/a');
    expect(refusal(may('update'), marked, marked)).toBeUndefined();
    expect(refusal(may('update'), cluster(), marked)).toBeUndefined();
    expect(refusal(may('create'), marked)).toBeUndefined();
    expect(refusal(may('update'), marked, cluster(), namespaces)).toBeUndefined();
  });
});
