import { describe, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import type { Shape } from '../api/codec/shape.ts';
import { type AnswerType, CLUSTERPASS_ANSWER, KUBERNETES_ANSWER, wrongTypeIn } from './answer-types.ts';

const LEAVES: Readonly<Record<string, string>> = {
  string: 'string',
  'date-time': 'string',
  byte: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

/** The fields that a schema gives another type. */
function* differences(shape: Shape, type: AnswerType, path: string): Generator<string> {
  if (shape.type === 'any' || type === 'any') return;
  if (shape.type === 'array') {
    if (Array.isArray(type)) yield* differences(shape.items, type[0] as AnswerType, `${path}[]`);
    else yield path;
  } else if (shape.type === 'map' || shape.type === 'struct') {
    if (typeof type !== 'object' || Array.isArray(type)) yield path;
    else {
      const fields = type as Readonly<Record<string, AnswerType>>;
      const others = fields['*'];
      if (shape.type === 'map') {
        if (others !== undefined) yield* differences(shape.values, others, `${path}.*`);
        return;
      }
      for (const { name, shape: field } of shape.fields) {
        const known = fields[name] ?? others ?? (name.endsWith('ApiEndpoints') ? fields['*ApiEndpoints'] : undefined);
        if (known !== undefined) yield* differences(field, known, `${path}.${name}`);
      }
    }
  } else if (type !== LEAVES[shape.type]) yield path;
}

const { kinds, projections, virtualTypes } = createCatalog({ productName: 'orchestrator' });

describe.each([
  ['Clusterpass', CLUSTERPASS_ANSWER],
  ['Kubernetes', KUBERNETES_ANSWER],
])('the types of answers of %s', (_, fields) => {
  it.each([...kinds, ...projections, ...virtualTypes].map((each) => [each.kind, each] as const))(
    'are those of the schema of %s',
    (kind, { shape }) => {
      expect([...differences(shape, fields, kind)]).toEqual([]);
    },
  );
});

it('names the field that has another type', () => {
  const answer = { metadata: { name: 'x' }, items: [{ metadata: { name: 5 } }] };
  expect(wrongTypeIn(answer, CLUSTERPASS_ANSWER, 'list')).toContain('items[0].metadata.name');
});

it('a server may leave fields out, send null, and send fields that the client does not know', () => {
  const answer = { metadata: { name: 'x', labels: null, owner: 5 }, items: null, status: { future: [1] }, more: true };
  expect(wrongTypeIn(answer, CLUSTERPASS_ANSWER, 'list')).toBeUndefined();
  expect(answer).toEqual({ metadata: { name: 'x', owner: 5 }, items: [], status: { future: [1] }, more: true });
});
