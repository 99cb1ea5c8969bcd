import { existsSync, readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { MODELS } from '../../models/models.mjs';
import { compileModel, transcriptOf } from '../../models/run-models.mjs';
import { compiler, spin } from '../../scripts/programs.ts';
import { describeWith } from '../describe-with.ts';

// Small bounds; `npm run models` has the others. A compilation takes a second, a search less.
for (const { name, quick, faults } of MODELS) {
  describeWith(spin, `the model ${name}`, () => {
    describeWith(compiler, 'searched exhaustively', () => {
      const compiled = new Map<string, ReturnType<typeof compileModel>>();
      const withBounds = (bounds: readonly string[]) => {
        const model = compiled.get(bounds.join(' ')) ?? compileModel(name, bounds);
        compiled.set(bounds.join(' '), model);
        return model;
      };
      afterAll(() => {
        for (const model of compiled.values()) model.remove();
      });

      it('has no counterexample', () => {
        const { states, counterexample } = withBounds(quick).search();
        expect(counterexample).toBeUndefined();
        expect(states).toBeGreaterThan(1_000);
      });

      it.each(faults)('finds the fault $fault when it is planted', ({ fault, bounds = quick }) => {
        const { counterexample = [] } = withBounds(bounds).search(fault);
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
