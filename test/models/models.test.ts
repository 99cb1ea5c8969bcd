import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MODELS } from '../../models/models.mjs';
import { search, transcriptOf } from '../../models/run-models.mjs';
import { compiler, spin } from '../../scripts/programs.mjs';
import { describeWith } from '../describe-with.ts';

// Small bounds; `npm run models` has the others. Each search is a compilation of a second and a run of less.
for (const { name, quick, faults } of MODELS) {
  describeWith(spin, `the model ${name}`, () => {
    describeWith(compiler, 'searched exhaustively', () => {
      it('has no counterexample', () => {
        const { states, counterexample } = search(name, quick);
        expect(counterexample).toBeUndefined();
        expect(states).toBeGreaterThan(1_000);
      });

      it.each(faults)('finds the fault $fault when it is planted', ({ fault, bounds = quick }) => {
        const { counterexample = [] } = search(name, [...bounds, `FAULT=${fault}`]);
        const transcript = readFileSync(transcriptOf(name, fault), 'utf8').trimEnd().split('\n');
        expect(counterexample.at(-1)).toMatch(/^violated: /);
        expect(transcript.at(-1)).toMatch(/^violated: /);
      });
    });
  });
}

it('keeps a counterexample of each fault', () => {
  const missing = MODELS.flatMap(({ name, faults }) => faults.map(({ fault }) => transcriptOf(name, fault)));
  expect(missing.filter((path) => !existsSync(path))).toEqual([]);
});
