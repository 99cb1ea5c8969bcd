import { list, stringMap, struct, text, texts } from './meta.ts';

/** A LabelSelector of Kubernetes. `strict` as in BodyType; `maxItems`: of its map and its list. */
export const labelSelectorSchema = ({ strict = false, maxItems = Number.POSITIVE_INFINITY } = {}) => {
  const isBounded = Number.isFinite(maxItems);
  return struct(
    'LabelSelector',
    'Selects objects by their labels.',
    {
      matchLabels: stringMap('Labels that must all match.', isBounded ? { maxProperties: maxItems } : {}),
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
        { ...(isBounded ? { maxItems } : {}), description: 'Requirements that must all hold.' },
      ),
    },
    { mapType: 'atomic', ...(strict ? { strict } : {}) },
  );
};
