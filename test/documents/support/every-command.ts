import { expect, it } from 'vitest';
import { blocksOf, isRun, wasExecuted } from './blocks.ts';

/**
 * The last test of a file that runs the commands of a page: none of them was left out, except those that are marked. In
 * `sections` only, if they are given.
 */
export function everyCommandWasRun(page: string, sections?: readonly string[]): void {
  it(`ran every command of ${[page, ...(sections ?? [])].join(', ')}`, () => {
    const wanted = blocksOf(page).filter((block) => isRun(block) && (sections?.includes(block.section) ?? true));
    expect(wanted.length).toBeGreaterThan(0);
    expect(wanted.filter((block) => !wasExecuted(block)).map(({ text }) => text)).toEqual([]);
  });
}
