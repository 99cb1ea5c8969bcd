import { describe, it, type TestOptions } from 'vitest';
import { whyMissing } from '../scripts/programs.ts';

/**
 * Tests that need a program which is not the project's own. Without it they are skipped, with the reason in their name.
 * Not in CI: there they fail, because a skipped test would go unnoticed.
 */
export function describeWith(
  program: Parameters<typeof whyMissing>[0],
  name: string,
  tests: () => void,
  options: TestOptions = {},
): void {
  const reason = whyMissing(program);
  if (reason === undefined) describe(name, options, tests);
  else if (process.env.CI === 'true') {
    it(`${name}: needs ${program.name}`, () => {
      throw new Error(`${program.name} is missing: ${reason}`);
    });
  } else describe.skip(`${name} (skipped, ${program.name} is missing: ${reason})`, tests);
}
