import type { LabelSelectorFields } from './kinds/label-selector-schema.ts';

/** The field `spec.clusters` of a FleetRoleBinding as text, without its schema: for console and command line. */

/** A computed label: for the selectors of bindings, every cluster has it with its name as the value. */
export const NAME_LABEL = 'kubernetes.io/metadata.name';

type Expression = NonNullable<LabelSelectorFields['matchExpressions']>[number];

/** Exactly one of `all`, `names` and `selector`. */
export interface ClustersField {
  all?: boolean;
  names?: string[];
  uid?: string;
  selector?: LabelSelectorFields;
}

/** The names, or the selector as `kubectl -l` takes it. */
export function clustersText({ all, names, selector }: ClustersField = {}): string {
  if (all === true) return '<all>';
  if (names !== undefined) return names.join(',');
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key = '', operator = '', values = [] }) => {
      if (operator === 'Exists') return key;
      if (operator === 'DoesNotExist') return `!${key}`;
      return `${key} ${operator.toLowerCase()} (${values.join(',')})`;
    }),
  ].join(',');
}

/** Terms of `kubectl -l`: `key`, `!key`, `key=value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`. */
const TERM = /^(!?)\s*([^\s=!(),]+)\s*(?:(={1,2}|!=)\s*([^\s=!(),]*)|(in|notin)\s*\(([^()]*)\))?$/;

function expressionOf(term: string): Required<Expression> {
  const [, not = '', key = '', sign, value = '', word, list = ''] = TERM.exec(term) ?? [];
  if (key === '' || (not !== '' && (sign ?? word) !== undefined))
    throw new TypeError(`cannot read ${JSON.stringify(term)}`);
  if (sign !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  if (word === undefined) return { key, operator: not === '' ? 'Exists' : 'DoesNotExist', values: [] };
  return { key, operator: word === 'in' ? 'In' : 'NotIn', values: list.split(',').map((each) => each.trim()) };
}

/** The field for a selector as `kubectl -l` takes it. @throws TypeError if it cannot be read. */
export function clustersOf(selector: string): ClustersField {
  const terms = selector.split(/,(?![^(]*\))/).map((term) => expressionOf(term.trim()));
  const [first] = terms;
  if (terms.length === 1 && first?.key === NAME_LABEL && first.operator === 'In') return { names: first.values };
  const isLabel = ({ key, operator, values }: Required<Expression>): boolean =>
    operator === 'In' && values.length === 1 && terms.filter((other) => other.key === key).length === 1;
  const labels = terms.filter(isLabel);
  const others = terms.filter((term) => !isLabel(term));
  return {
    selector: {
      ...(labels.length === 0
        ? {}
        : { matchLabels: Object.fromEntries(labels.map(({ key, values }) => [key, values[0] ?? ''])) }),
      ...(others.length === 0
        ? {}
        : {
            matchExpressions: others.map(({ values, ...rest }) => (values.length === 0 ? rest : { ...rest, values })),
          }),
    },
  };
}
