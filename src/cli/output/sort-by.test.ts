import { describe, expect, it } from 'vitest';
import { CliError } from '../command.ts';
import { naturalOrder, sorterFor } from './sort-by.ts';

describe('--sort-by', () => {
  it('compares numbers in texts as numbers, and puts items without the field first', () => {
    const versions = ['v1.36.4', 'v1.9.0', undefined, 'v1.36.10', 'v1.36.04'].map((version) => ({
      status: { version },
    }));
    expect(
      sorterFor<(typeof versions)[number]>('{.status.version}')(versions).map(({ status }) => status.version),
    ).toEqual([undefined, 'v1.9.0', 'v1.36.04', 'v1.36.4', 'v1.36.10']);
  });

  it('compares numbers, and keeps the order of equal items', () => {
    const items = [
      { n: 10, id: 'a' },
      { n: 9, id: 'b' },
      { n: 10, id: 'c' },
    ];
    expect(sorterFor<(typeof items)[number]>('.n')(items).map(({ id }) => id)).toEqual(['b', 'a', 'c']);
  });

  it('refuses a field that no item has, unless there are no items', () => {
    expect(() => sorterFor('.status.versoin')([{ status: {} }])).toThrow(CliError);
    expect(sorterFor('.x')([])).toEqual([]);
  });

  it('compares numbers of any length', () => {
    expect(naturalOrder(`a${'9'.repeat(400)}`, `a1${'0'.repeat(400)}`)).toBeLessThan(0);
    expect(naturalOrder('a', 'a1')).toBeLessThan(0);
    expect(naturalOrder('a', 'a')).toBe(0);
  });
});
