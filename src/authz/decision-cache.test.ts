import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { DecisionCache } from './decision-cache.ts';
import { ask, user } from './rbac.fixture.ts';

const ALLOWED = { allowed: true, reason: '' };

it('decides once for who asks the same again, and again when anything has changed', () => {
  const recent = new DecisionCache();
  const [jane, question] = [user('jane'), ask({ verb: 'get' })];
  let [decided, labels] = [0, { env: 'prod' }];
  const get = (step: number, looks: boolean): void => {
    recent.get(
      step,
      jane,
      question,
      () => labels,
      (labelsOf) => {
        decided += 1;
        if (looks) labelsOf();
        return ALLOWED;
      },
    );
  };
  get(1, true);
  get(1, true);
  expect(decided).toBe(1);
  labels = { env: 'prod' };
  get(1, true);
  expect(decided).toBe(2);
  get(2, false);
  expect(decided).toBe(3);
  labels = { env: 'dev' };
  get(2, false);
  expect(decided).toBe(3);
});

it('A20: keeps no question alive: those of reviews are made of bodies of any length', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const recent = new DecisionCache();
  const jane = user('jane');
  const asked = Array.from({ length: 10 }, (_, index) => {
    const question = ask({ verb: 'get', name: `n${index}` });
    recent.get(
      1,
      jane,
      question,
      () => undefined,
      () => ALLOWED,
    );
    return new WeakRef(question);
  });
  // A WeakRef holds what it refers to until the turn is over.
  await new Promise(setImmediate);
  collect();
  expect(asked.map((each) => each.deref())).toEqual(asked.map(() => undefined));
});
