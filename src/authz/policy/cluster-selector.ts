import { NAME_LABEL } from '../../api/clusters-field.ts';
import type { ClusterLabels } from '../../api/visibility.ts';
import type { LabelSelector, Requirement } from '../../objects/selectors/label-selector.ts';

/** What selectors match against. */
export interface ClusterView {
  readonly name: string;
  /** Own labels plus the computed name; the name alone when there is no such cluster. */
  readonly labels: ClusterLabels;
  readonly exists: boolean;
}

export function viewCluster(name: string, own: ClusterLabels | undefined): ClusterView {
  // The computed label comes last: a cluster with a forged one is still known by its name.
  return { name, labels: { ...own, [NAME_LABEL]: name }, exists: own !== undefined };
}

/** A label that a selector requires, alone or as one of several; see `ClusterSelector.requiredLabels`. */
export interface RequiredLabel {
  readonly key: string;
  readonly value: string;
}

export const labelText = ({ key, value }: RequiredLabel): string => `${key}=${value}`;

/** The label selector of a binding, with what indexes need to know of it. */
export class ClusterSelector {
  /** Equal for selectors with the same requirements in other words (`a=b`, `a in (b)`) or another order. */
  readonly text: string;
  /** Every matching cluster has one of these labels; undefined when the selector names no such labels. */
  readonly requiredLabels: readonly RequiredLabel[] | undefined;
  /** True when every cluster with one of these labels matches. */
  readonly requiredLabelsSuffice: boolean;
  /** True when the selector is about the cluster's name only. */
  readonly namesOnly: boolean;
  readonly #selector: LabelSelector;

  constructor(selector: LabelSelector) {
    this.#selector = selector;
    this.text = selector.toString();
    this.requiredLabels = chooseRequiredLabels(selector.requirements);
    this.requiredLabelsSuffice = this.requiredLabels !== undefined && selector.requirements.length === 1;
    this.namesOnly = selector.requirements.every(({ key }) => key === NAME_LABEL);
  }

  /** The labels that it is about. */
  get keys(): readonly string[] {
    return this.#selector.requirements.map(({ key }) => key);
  }

  /**
   * Of a cluster that does not exist only the name is known, so only a selector about names can match it. If
   * `env!=prod` matched because there are no labels, the request would be allowed, and its 404 would tell the caller
   * which of the clusters that it may not access (403) exist.
   */
  holdsIn(view: ClusterView): boolean {
    return (view.exists || this.namesOnly) && this.#selector.matches(view.labels);
  }
}

/** By name if possible, otherwise by the requirement with the fewest values: fewest lookups. */
function chooseRequiredLabels(requirements: readonly Requirement[]): RequiredLabel[] | undefined {
  let best: Requirement | undefined;
  for (const requirement of requirements.filter(({ operator }) => operator === 'in')) {
    if (best === undefined || rank(requirement) < rank(best)) best = requirement;
  }
  return best?.values.map((value) => ({ key: best.key, value }));
}

const rank = ({ key, values }: Requirement): number => (key === NAME_LABEL ? 0 : values.length);

/** Where a binding holds. */
export type Reach =
  /** In requests about any cluster, and about none. */
  | { readonly kind: 'everywhere' }
  /** In requests about the selected clusters; never in a request about no cluster. */
  | {
      readonly kind: 'clusters';
      readonly selector: ClusterSelector;
      /** `NAME/UID` of a cluster: the binding ends when another cluster gets the name. */
      readonly bound?: string | undefined;
    }
  /** The API would refuse the binding, or it is being deleted. */
  | { readonly kind: 'nowhere'; readonly reason: string };

/** Equal for reaches that hold in the same requests, for as long. */
export function reachText(reach: Reach): string {
  switch (reach.kind) {
    case 'everywhere':
      return 'everywhere';
    case 'clusters':
      return reach.bound === undefined ? unboundText(reach) : `${unboundText(reach)} bound to ${reach.bound}`;
    case 'nowhere':
      return `nowhere:${reach.reason}`;
  }
}

const unboundText = ({ selector }: { readonly selector: ClusterSelector }): string => `clusters:${selector.text}`;

/** Tells whether a held binding holds wherever `reach` does. It compares texts only, and may miss one that does. */
export function widerThan(reach: Reach): (held: Reach) => boolean {
  const accepted = new Set([
    'everywhere',
    reachText(reach),
    ...(reach.kind === 'clusters' ? [unboundText(reach)] : []),
  ]);
  return (held) => held.kind !== 'nowhere' && accepted.has(reachText(held));
}
