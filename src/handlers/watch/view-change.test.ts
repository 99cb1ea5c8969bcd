import { describe, expect, it } from 'vitest';
import type { VisibilityRule } from '../../api/visibility.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { CacheState } from '../../storage/snapshot.ts';
import type { Selection } from '../selection.ts';
import { type Difference, ViewChange } from './view-change.ts';

const PREFIX = '/clusters/';
const nameOf = (index: number): string => `c-${String(index).padStart(5, '0')}`;

function fleetOf(size: number): CacheState<StoredObject> {
  const state = CacheState.empty<StoredObject>({ indexLabels: true });
  for (let index = 0; index < size; index++) {
    const name = nameOf(index);
    state.replace(undefined, { key: `${PREFIX}${name}`, name, labels: {} } as unknown as StoredObject);
  }
  return state;
}

let rules = 0;

/** A selection by name that counts its decisions. */
function seeing(admits: (name: string) => boolean, asked: { count: number } = { count: 0 }): Selection {
  const rule = {
    fingerprint: `rule ${++rules}`,
    all: false,
    none: false,
    admits: (name: string) => {
      asked.count += 1;
      return admits(name);
    },
    candidates: undefined,
  } as unknown as VisibilityRule;
  const [labels, fields] = [parseLabelSelector(''), parseFieldSelector('')];
  return { prefix: PREFIX, namesAreUnique: true, labels, fields, rule };
}

const textOf = (difference: Difference | undefined): string[] =>
  difference === undefined ? [] : [`${difference.isShown ? '+' : '-'}${difference.entry.name}`];
const odd = (name: string): boolean => Number(name.slice(2)) % 2 === 1;
const inOrder = (size: number, sign: string, wanted: (name: string) => boolean): string[] =>
  Array.from({ length: size }, (_, index) => nameOf(index))
    .filter(wanted)
    .map((name) => `${sign}${name}`);

describe('ViewChange', () => {
  it('is empty when two rules admit the same clusters', () => {
    const change = new ViewChange(fleetOf(100), seeing(odd), seeing(odd));
    expect(change.isEmpty).toBe(true);
    expect([...change.differences()]).toEqual([]);
  });

  it('yields what became visible, then what is no longer visible', () => {
    const first = (name: string): boolean => name < nameOf(6);
    const change = new ViewChange(fleetOf(8), seeing(odd), seeing(first));
    expect(change.isEmpty).toBe(false);
    const expected = ['+c-00000', '+c-00002', '+c-00004', '-c-00007'];
    expect([...change.differences()].flatMap(textOf)).toEqual(expected);
    expect([...change.differences()].flatMap(textOf)).toEqual(expected);
  });

  it('A18: compares a large fleet step by step, once for all iterators', () => {
    const SIZE = 5_000;
    const asked = { count: 0 };
    const change = new ViewChange(
      fleetOf(SIZE),
      seeing(odd, asked),
      seeing((name) => !odd(name), asked),
    );
    expect(asked.count).toBeLessThanOrEqual(2_000);
    expect(change.isEmpty).toBe(false);
    const [one, other] = [change.differences(), change.differences()];
    const seen: [string[], string[]] = [[], []];
    for (let open = 2; open > 0; ) {
      open = 0;
      // One of them is faster.
      for (const [iterator, list] of [
        [one, seen[0]],
        [one, seen[0]],
        [other, seen[1]],
      ] as const) {
        const { done, value } = iterator.next();
        if (done === true) continue;
        open += 1;
        list.push(...textOf(value ?? undefined));
      }
    }
    const expected = [...inOrder(SIZE, '+', (name) => !odd(name)), ...inOrder(SIZE, '-', odd)];
    expect(seen).toEqual([expected, expected]);
    expect(asked.count).toBeLessThanOrEqual(4 * SIZE);
  });
});
