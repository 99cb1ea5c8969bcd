import { clustersOf } from '../../../src/api/clusters-field.ts';

/** FleetRoleBindings, as tests write them. */

export const FLEET_BINDINGS = '/apis/clusterpass.dev/v1alpha1/fleetrolebindings';

interface FleetBinding {
  readonly name: string;
  /** The names of users, or whole subjects. */
  readonly to: readonly (string | object)[];
  readonly role: string;
  /** The names or the selector of clusters, as `kubectl -l` takes them. Default: all. */
  readonly clusters?: string | undefined;
  /** Further fields of the spec. */
  readonly fields?: object;
}

/** The body of a FleetRoleBinding. */
export const fleetBinding = ({ name, to, role, clusters, fields }: FleetBinding): object => ({
  apiVersion: 'clusterpass.dev/v1alpha1',
  kind: 'FleetRoleBinding',
  metadata: { name },
  spec: {
    subjects: to.map((each) => (typeof each === 'string' ? { kind: 'User', name: each } : withoutGroup(each))),
    roleRef: { kind: 'ClusterRole', name: role },
    clusters: clusters === undefined ? { all: true } : clustersOf(clusters),
    ...fields,
  },
});

const withoutGroup = ({ apiGroup: _, ...subject }: { apiGroup?: string }): object => subject;
