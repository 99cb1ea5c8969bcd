import { describe, expect, it } from 'vitest';
import { CliError } from '../command.ts';
import { naturalOrder, sorterFor } from './sort-by.ts';

describe('--sort-by', () => {
  it('numbers in texts count as numbers, and what lacks the field comes first', () => {
    const versions = ['v1.36.4', 'v1.9.0', undefined, 'v1.36.10', 'v1.36.04'].map((version) => ({
      status: { version },
    }));
    expect(
      sorterFor<(typeof versions)[number]>('{.status.version}')(versions).map(({ status }) => status.version),
    ).toEqual([undefined, 'v1.9.0', 'v1.36.04', 'v1.36.4', 'v1.36.10']);
  });

  it('numbers are compared as such, and equal ones stay in their order', () => {
    const items = [
      { n: 10, id: 'a' },
      { n: 9, id: 'b' },
      { n: 10, id: 'c' },
    ];
    expect(sorterFor<(typeof items)[number]>('.n')(items).map(({ id }) => id)).toEqual(['b', 'a', 'c']);
  });

  it('a field that nothing has is a mistake, unless there is nothing', () => {
    expect(() => sorterFor('.status.versoin')([{ status: {} }])).toThrow(CliError);
    expect(sorterFor('.x')([])).toEqual([]);
  });

  it('huge runs of digits are no problem', () => {
    expect(naturalOrder(`a${'9'.repeat(400)}`, `a1${'0'.repeat(400)}`)).toBeLessThan(0);
    expect(naturalOrder('a', 'a1')).toBeLessThan(0);
    expect(naturalOrder('a', 'a')).toBe(0);
  });
});
