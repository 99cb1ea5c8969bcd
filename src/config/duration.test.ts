import { describe, expect, it } from 'vitest';
import { parseDuration } from './duration.ts';

describe('parseDuration', () => {
  it.each([
    ['24h', 86_400_000],
    ['5m', 300_000],
    ['90s', 90_000],
    ['250ms', 250],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['0.1s', 100],
    ['0s', 0],
    ['0', 0],
    ['+5m', 300_000],
    ['.5h', 1_800_000],
    ['4294967296s', 4_294_967_296_000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '5', 'm', '5 m', '-5m', '5d', '5M', '5m ', '1h,30m', '1..5h', '0.0001s', '1e3s', '٥m'])(
    'refuses %j',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('refuses what is too large to be meant', () => {
    expect(parseDuration('99999999999999999999h')).toBeUndefined();
  });
});
