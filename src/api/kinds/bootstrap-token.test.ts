import { describe, expect, it } from 'vitest';
import { bootstrapToken, bootstrapTokenDigest, bootstrapTokenId } from '../bootstrap-credential.ts';
import { NOTHING_UNCHANGED } from '../kind.ts';
import { bootstrapTokenKind, matchesPattern } from './bootstrap-token.ts';

describe('a bootstrap token', () => {
  it.each([
    ['prod-1', 'prod-1', true],
    ['prod-1', 'prod-2', false],
    ['prod-1', 'prod-*', true],
    ['prod-', 'prod-*', true],
    ['prod', 'prod-*', false],
    ['xprod-1', 'prod-*', false],
    ['prod-1x', '*-1', false],
    ['a.b', 'a*b', true],
    ['axb', 'a.b', false],
    ['ab', 'ab*b', false],
    ['eu-prod-1', '*-prod-*', true],
    ['eu-prod', '*-prod-*', false],
    ['a-b-b', 'a-*b-b', true],
    ['anything', '*', true],
  ])('is for %s with the pattern %s: %s', (name, pattern, isMatch) => {
    expect(matchesPattern(name, pattern)).toBe(isMatch);
  });

  it('has a text with the name of its object, and a digest', () => {
    const text = bootstrapToken('edge-7', Buffer.alloc(32, 255));
    expect(text).toMatch(/^cpbt_edge-7_[\w-]{43}$/);
    expect(bootstrapTokenId(text)).toBe('edge-7');
    expect(bootstrapTokenDigest(text)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(['', 'cpbt_', `${text}x`, text.slice(0, -1), `x${text}`, `Bearer ${text}`].map(bootstrapTokenId)).toEqual(
      Array.from({ length: 6 }),
    );
  });

  it('has labels that its cluster can have', () => {
    const errorsOf = (labels: Record<string, string>) => {
      const spec = { tokenDigest: `sha256:${'0'.repeat(64)}`, namePattern: 'edge-*', labels };
      const object = { apiVersion: '', kind: '', metadata: { name: 'edge-7' }, spec };
      return bootstrapTokenKind.validate(object, undefined, NOTHING_UNCHANGED);
    };
    expect(errorsOf({ env: 'dev', 'protected.clusterpass.dev/env': 'dev' })).toEqual([]);
    expect(errorsOf({ 'clusterpass.dev/env': 'dev' })).toMatchObject([
      {
        field: 'spec.labels[clusterpass.dev/env]',
        detail: expect.stringContaining('the domain clusterpass.dev is reserved'),
      },
    ]);
  });
});
