import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../catalog.ts';
import { bodySchema } from './shape.ts';
import { typeProblem } from './stored-types.ts';

const { shape } = bodySchema(
  Type.Object({
    text: Type.Optional(Type.String()),
    time: Type.Optional(Type.String({ format: 'date-time' })),
    count: Type.Optional(Type.Integer()),
    flag: Type.Optional(Type.Boolean()),
    free: Type.Optional(Type.Unknown()),
    kept: Type.Optional(Type.Array(Type.String(), { keepNull: true })),
    list: Type.Optional(Type.Array(Type.Object({ name: Type.String() }))),
    map: Type.Optional(Type.Record(Type.String(), Type.String())),
    times: Type.Optional(Type.Array(Type.String({ format: 'date-time' }))),
  }),
);

describe('the types of a stored value', () => {
  it.each([
    {},
    { text: '', time: 'any text', count: 1.5, flag: false, free: null, kept: null, list: [], map: {}, times: [null] },
    { list: [{ name: 'a', unknown: 5 }], map: { a: 'b' }, kept: ['a'], unknown: { a: [] } },
  ])('fit: %j', (value) => {
    expect(typeProblem(value, shape)).toBeUndefined();
  });

  it.each([
    ['text', 'is a string'],
    [null, 'is null'],
    [[], 'is a list'],
    [{ text: 5 }, '.text is a number'],
    [{ text: null }, '.text is null'],
    [{ time: {} }, '.time is an object'],
    [{ count: '5' }, '.count is a string'],
    [{ flag: 'true' }, '.flag is a string'],
    [{ kept: 'a' }, '.kept is a string'],
    [{ list: {} }, '.list is an object'],
    [{ list: [{ name: 'a' }, null] }, '.list[1] is null'],
    [{ list: [{ name: ['a'] }] }, '.list[0].name is a list'],
    [{ map: ['a'] }, '.map is a list'],
    [{ map: { a: 'b', c: true } }, '.map[c] is a boolean'],
  ])('do not fit: %j', (value, problem) => {
    expect(typeProblem(value, shape)).toBe(problem);
  });

  it('of every stored kind: the name of an object is a string', () => {
    for (const kind of createCatalog({ productName: 'clusterpass' }).storedKinds) {
      expect(typeProblem({ metadata: { name: 'a' } }, kind.shape), kind.resource).toBeUndefined();
      expect(typeProblem({ metadata: { name: 5 } }, kind.shape), kind.resource).toBe('.metadata.name is a number');
    }
  });
});
