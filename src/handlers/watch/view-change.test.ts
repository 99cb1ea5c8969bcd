import { describe, expect, it } from 'vitest';
import type { ClusterRule } from '../../api/authorization.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { Snapshot } from '../../storage/snapshot.ts';
import type { Selection } from '../selection.ts';
import { type Difference, ViewChange } from './view-change.ts';

const PREFIX = '/clusters/';
const nameOf = (index: number): string => `c-${String(index).padStart(5, '0')}`;

function fleetOf(size: number): Snapshot<StoredObject> {
  const state = Snapshot.empty<StoredObject>({ indexLabels: true });
  for (let index = 0; index < size; index++) {
    const name = nameOf(index);
    state.replace(undefined, { key: `${PREFIX}${name}`, name, labels: {} } as unknown as StoredObject);
  }
  return state;
}

/** Who may see what; each question is counted. */
function seeing(admits: (name: string) => boolean, asked: { count: number } = { count: 0 }): Selection {
  const rule = {
    all: false,
    none: false,
    admits: (name: string) => {
      asked.count += 1;
      return admits(name);
    },
    candidates: undefined,
  } as unknown as ClusterRule;
  const [labels, fields] = [parseLabelSelector(''), parseFieldSelector('')];
  return { prefix: PREFIX, namesAreUnique: true, labels, fields, rule };
}

const told = (step: Difference | undefined): string[] =>
  step === undefined ? [] : [typeof step === 'string' ? `-${step}` : `+${step.name}`];
const odd = (name: string): boolean => Number(name.slice(2)) % 2 === 1;
const inOrder = (size: number, sign: string, wanted: (name: string) => boolean): string[] =>
  Array.from({ length: size }, (_, index) => nameOf(index))
    .filter(wanted)
    .map((name) => `${sign}${name}`);

describe('a change of view', () => {
  it('is nothing where the same is seen by another rule', () => {
    const change = new ViewChange(fleetOf(100), seeing(odd), seeing(odd));
    expect(change.isNothing).toBe(true);
    expect([...change.steps()]).toEqual([]);
  });

  it('tells what is new, and then what is gone', () => {
    const first = (name: string): boolean => name < nameOf(6);
    const change = new ViewChange(fleetOf(8), seeing(odd), seeing(first));
    expect(change.isNothing).toBe(false);
    const expected = ['+c-00000', '+c-00002', '+c-00004', '-c-00007'];
    expect([...change.steps()].flatMap(told)).toEqual(expected);
    expect([...change.steps()].flatMap(told)).toEqual(expected);
  });

  it('A18: of a large fleet is found in steps, once for all who take them', () => {
    const SIZE = 5_000;
    const asked = { count: 0 };
    const change = new ViewChange(
      fleetOf(SIZE),
      seeing(odd, asked),
      seeing((name) => !odd(name), asked),
    );
    expect(asked.count).toBeLessThanOrEqual(2_000);
    expect(change.isNothing).toBe(false);
    const [one, other] = [change.steps(), change.steps()];
    const heard: [string[], string[]] = [[], []];
    for (let open = 2; open > 0; ) {
      open = 0;
      // One of them goes faster.
      for (const [steps, list] of [
        [one, heard[0]],
        [one, heard[0]],
        [other, heard[1]],
      ] as const) {
        const { done, value } = steps.next();
        if (done === true) continue;
        open += 1;
        list.push(...told(value ?? undefined));
      }
    }
    const expected = [...inOrder(SIZE, '+', (name) => !odd(name)), ...inOrder(SIZE, '-', odd)];
    expect(heard).toEqual([expected, expected]);
    expect(asked.count).toBeLessThanOrEqual(4 * SIZE);
  });
});
