import { describe, expect, it } from 'vitest';
import { humanAge } from './human-duration.ts';

const NOW = Date.parse('2026-09-01T12:00:00Z');
const [S, M, H, D] = [1, 60, 3_600, 86_400];
const Y = 365 * D;

describe('B-03: ages as kubectl prints them', () => {
  it.each([
    [0, '0s'],
    [-1, '0s'],
    [-2, '<invalid>'],
    [119, '119s'],
    [2 * M, '2m'],
    [2 * M + 5 * S, '2m5s'],
    [10 * M - 1, '9m59s'],
    [10 * M + 59, '10m'],
    [3 * H - 1, '179m'],
    [3 * H, '3h'],
    [3 * H + 4 * M + 5, '3h4m'],
    [8 * H + 59 * M, '8h'],
    [2 * D - 1, '47h'],
    [2 * D, '2d'],
    [2 * D + 5 * H, '2d5h'],
    [8 * D + 23 * H, '8d'],
    [2 * Y - 1, '729d'],
    [2 * Y, '2y'],
    [2 * Y + 3 * D, '2y3d'],
    [9 * Y + 3 * D, '9y'],
  ])('%i seconds: %s', (seconds, text) => {
    expect(humanAge(new Date(NOW - seconds * 1000).toISOString(), NOW)).toBe(text);
  });

  it('prints <unknown> and <invalid>', () => {
    expect(humanAge(null, NOW)).toBe('<unknown>');
    expect(humanAge('yesterday', NOW)).toBe('<invalid>');
  });
});
