import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const KNOWN = ['listen', 'base-url', 'data-dir'];

describe('nearest', () => {
  it.each([
    ['lisen', 'listen'],
    ['LISTEN', 'listen'],
    ['base_url', 'base-url'],
    ['dta-dri', undefined],
    ['data-dri', 'data-dir'],
    ['something-else', undefined],
    ['__proto__', undefined],
    ['listen'.repeat(1000), undefined],
  ])('%s -> %s', (name, expected) => {
    expect(nearest(name, KNOWN)).toBe(expected);
  });
});
