import type { Static } from 'typebox';
import { selectorSizeProblem } from '../selectors.ts';
import { type FieldError, forbiddenField } from '../status.ts';
import { list, stringMap, struct, text, texts } from './meta.ts';

/** A LabelSelector of Kubernetes. `strict` as in BodyType. */
export const labelSelectorSchema = ({ strict = false } = {}) =>
  struct(
    'LabelSelector',
    'Selects objects by their labels.',
    {
      matchLabels: stringMap('Labels that must all match.'),
      matchExpressions: list(
        struct(
          'LabelSelectorRequirement',
          'A requirement on one label.',
          {
            key: text('The key of a label.'),
            operator: text('`In`, `NotIn`, `Exists` or `DoesNotExist`.'),
            values: texts('What the operator compares with.'),
          },
          strict ? { strict } : {},
        ),
        { description: 'Requirements that must all hold.' },
      ),
    },
    { mapType: 'atomic', ...(strict ? { strict } : {}) },
  );

export type LabelSelectorFields = Static<ReturnType<typeof labelSelectorSchema>>;

export function selectorSizeErrors(selector: LabelSelectorFields, at: string): FieldError[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const requirements = new Map<string, number>();
  for (const [key, value] of Object.entries(matchLabels)) requirements.set(JSON.stringify([key, 'In', [value]]), 1);
  for (const { key, operator, values = [] } of matchExpressions) {
    const distinct = [...new Set(values)].sort();
    requirements.set(JSON.stringify([key, operator, distinct]), distinct.length);
  }
  const values = [...requirements.values()].reduce((sum, count) => sum + count, 0);
  const problem = selectorSizeProblem(requirements.size, values);
  return problem === undefined ? [] : [forbiddenField(at, problem)];
}
