import type { PathQuestion, ResourceQuestion } from './authorization.ts';
import { isClusters } from './kinds/cluster-spec.ts';
import { hashedName } from './name-part.ts';

// As in kinds/rbac.ts, whose schemas are too large for the console.
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const FLEET_BINDINGS = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'FleetRoleBinding' };

/** One action: on resources, or on a path. */
export type Action = (Partial<ResourceQuestion> & Pick<ResourceQuestion, 'verb' | 'resource'>) | PathQuestion;

export interface AllowedSubject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** A role and a binding that allow the action to the subject, and nothing else. */
export function allowingObjects(action: Action, subject: AllowedSubject): object[] {
  const { rule, words, namespace, cluster } = grantOf(action);
  const roleName = hashedName(words, rule);
  const roleKind = namespace === undefined ? 'ClusterRole' : 'Role';
  const scope = namespace === undefined ? {} : { namespace };
  const apiVersion = `${RBAC_GROUP}/v1`;
  const name = hashedName([...words, subject.name, cluster], [rule, subject, cluster]);
  const roleRef = { kind: roleKind, name: roleName };
  return [
    { apiVersion, kind: roleKind, metadata: { name: roleName, ...scope }, rules: [rule] },
    cluster === undefined
      ? {
          apiVersion,
          kind: `${roleKind}Binding`,
          metadata: { name, ...scope },
          subjects: [{ apiGroup: RBAC_GROUP, ...subject }],
          roleRef: { apiGroup: RBAC_GROUP, ...roleRef },
        }
      : {
          ...FLEET_BINDINGS,
          metadata: { name },
          spec: {
            subjects: [subject],
            roleRef,
            clusters: { names: [cluster] },
            ...(namespace === undefined ? {} : { namespaces: [namespace] }),
          },
        },
  ];
}

/** `cluster`: the only one in which the binding holds. */
function grantOf(action: Action) {
  if ('path' in action) {
    // Paths are those of the server: a binding for some clusters does not hold for them.
    const { verb, path } = action;
    return { rule: { nonResourceURLs: [path], verbs: [verb] }, words: [verb, path] };
  }
  const { verb, group = '', resource, subresource, namespace, name } = action;
  const isCluster = isClusters({ group, resource });
  const isSeen = isCluster && verb === 'get' && subresource === undefined && name !== undefined;
  const rule = {
    apiGroups: [group],
    resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
    ...(name === undefined ? {} : { resourceNames: [name] }),
    // Who sees a cluster also finds it in lists: `get` alone would leave it out of `get clusters` and of the console.
    verbs: isSeen ? ['get', 'list', 'watch'] : [verb],
  };
  return {
    rule,
    words: [verb, resource, subresource, name],
    namespace,
    // A Cluster object belongs to the cluster that it describes.
    cluster: action.cluster ?? (isCluster ? name : undefined),
  };
}
