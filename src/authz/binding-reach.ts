import { NAME_LABEL } from '../api/clusters-field.ts';
import { PROTECTED_LABEL_PREFIX } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import type { BindingReach } from '../api/visibility.ts';
import { readBinding } from './policy/binding-facts.ts';
import { clusterRule } from './policy/cluster-rule.ts';
import type { Policy } from './policy/policy.ts';
import { ANY, type Rule } from './policy/rules.ts';

/**
 * Where a binding that selects clusters holds, for warnings to its writer; undefined for other bindings. `ofFleet`: the
 * kinds whose permissions are asked for in no cluster.
 */
export function bindingReach(
  policy: Pick<Policy, 'rulesOf'>,
  ofFleet: readonly Pick<Kind, 'group' | 'resource'>[],
  binding: ApiObject,
): BindingReach | undefined {
  const { reach, roleRef } = readBinding(binding, binding.metadata.namespace ?? '', binding.metadata.name ?? '');
  if (reach.kind !== 'clusters') return undefined;
  const { selector } = reach;
  const rules = policy.rulesOf(roleRef);
  const isGuarded = (key: string): boolean => key === NAME_LABEL || key.startsWith(PROTECTED_LABEL_PREFIX);
  return {
    clusters: clusterRule({ elsewhere: [{ names: undefined, selector }] }),
    byUnprotectedLabels: !selector.keys.every(isGuarded),
    // A role that does not exist may be created with any rules.
    grantsInClusters: rules === undefined || rules.some((rule) => !isOfFleet(rule, ofFleet)),
  };
}

/** Paths belong to no cluster, too. */
function isOfFleet({ apiGroups, resources }: Rule, ofFleet: readonly Pick<Kind, 'group' | 'resource'>[]): boolean {
  return resources.every((each) => {
    const [resource = ''] = each.split('/', 1);
    return (
      each !== ANY &&
      apiGroups.every((group) => ofFleet.some((kind) => kind.group === group && kind.resource === resource))
    );
  });
}
