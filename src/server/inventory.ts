import { NAME_LABEL } from '../api/clusters-field.ts';
import type { ProjectedNamespace } from '../api/kind.ts';
import type { InventorySettings } from '../api/kinds/cluster-profile.ts';
import { viewCluster } from '../authz/policy/cluster-selector.ts';
import { OptionsError } from '../config/load-options.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { SelectorSyntaxError } from '../objects/selectors/label-requirement.ts';
import { parseLabelSelector } from '../objects/selectors/label-selector.ts';

/** The settings of cluster profiles, with parsed selectors. Throws OptionsError. */
export const inventoryOf = ({ inventory }: Pick<ServeOptions, 'inventory'>): InventorySettings => ({
  ...inventory,
  namespaces: inventory.namespaces.map(({ name, selector }) => namespaceOf(name, selector)),
});

function namespaceOf(name: string, text: string): ProjectedNamespace {
  try {
    const selector = parseLabelSelector(text);
    // The label index does not know the computed name.
    const { key, values = [] } =
      selector.requirements.find(
        ({ key, operator, values }) => operator === 'in' && values.length === 1 && key !== NAME_LABEL,
      ) ?? {};
    const [value] = values;
    return {
      name,
      // As in bindings: a cluster with a forged name label is still known by its name.
      matches: (labels, cluster) => selector.matches(viewCluster(cluster, labels).labels),
      requiredLabel: key === undefined || value === undefined ? undefined : { key, value },
    };
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    throw new OptionsError([`--inventory-namespace: the selector of ${name} cannot be used: ${error.message}`]);
  }
}
