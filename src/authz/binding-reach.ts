import { NAME_LABEL } from '../api/clusters-field.ts';
import { PROTECTED_LABEL_PREFIX } from '../api/domain-keys.ts';
import type { ApiObject } from '../api/kind.ts';
import type { BindingReach } from '../api/visibility.ts';
import { readBinding } from './policy/binding-facts.ts';
import { clusterRule } from './policy/cluster-rule.ts';

/** Where a binding that selects clusters holds, for warnings to its writer; undefined for other bindings. */
export function bindingReach(binding: ApiObject): BindingReach | undefined {
  const { reach } = readBinding(binding, binding.metadata.namespace ?? '', binding.metadata.name ?? '');
  if (reach.kind !== 'clusters') return undefined;
  const { selector } = reach;
  const isGuarded = (key: string): boolean => key === NAME_LABEL || key.startsWith(PROTECTED_LABEL_PREFIX);
  return {
    clusters: clusterRule({ elsewhere: [{ names: undefined, selector }] }),
    byUnprotectedLabels: !selector.keys.every(isGuarded),
  };
}
