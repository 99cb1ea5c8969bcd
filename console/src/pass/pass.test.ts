import { describe, expect, it } from 'vitest';
import { claimsOf } from './claims.ts';
import { countdown, durationWords, lifetimeSteps } from './lifetime.ts';
import { NEW_DRAFT, requestFor } from './pass-request.ts';

const jwt = (payload: string): string => `e30.${Buffer.from(payload).toString('base64url')}.c2ln`;

describe('the claims of a token', () => {
  it('are read, in any script', () => {
    expect(claimsOf(jwt('{"sub":"übermut","exp":5}'))).toEqual({ sub: 'übermut', exp: 5 });
  });

  it.each(['', 'opaque', 'a.b', 'a.b.c', 'a.b.c.d', jwt('[1]'), jwt('null'), jwt('{"a":'), `e30.${'%'.repeat(9)}.x`])(
    'are none in %j',
    (token) => expect(claimsOf(token)).toBeUndefined(),
  );
});

describe('lifetimes', () => {
  it.each([3_600, 86_400, 90_000, 600_000, 4_294_967_296])(
    'a limit of %d seconds is on the scale, and not its end',
    (max) => {
      const { steps, limitIndex } = lifetimeSteps(max);
      expect(steps[limitIndex]).toBe(max);
      expect(steps).toEqual([...steps].sort((a, b) => a - b));
      expect(steps[0]).toBe(600);
      if (max < 7 * 86_400) expect(steps.length).toBeGreaterThan(limitIndex + 1);
    },
  );

  it.each([
    [600, '10 minutes'],
    [3_600, '1 hour'],
    [5_400, '1 h 30 min'],
    [86_400, '24 hours'],
    [172_800, '2 days'],
    [61, '61 seconds'],
  ])('%d seconds are %s', (seconds, words) => expect(durationWords(seconds)).toBe(words));

  it.each([
    [3_600_000, '1:00:00'],
    [59_001, '1:00'],
    [1, '0:01'],
    [-5, '0:00'],
  ])('%d milliseconds are counted down as %s', (left, text) => expect(countdown(left)).toBe(text));
});

describe('the request for a pass', () => {
  const account = { namespace: 'ci', name: 'builder' };

  it('asks for the cluster itself unless told otherwise', () => {
    expect(requestFor('a', account, NEW_DRAFT)).toEqual({
      cluster: 'a',
      ...account,
      audiences: [],
      expirationSeconds: 3_600,
      tracked: true,
    });
    expect(requestFor('a', account, { ...NEW_DRAFT, audiences: ' vault, ,sts ' })?.audiences).toEqual(['vault', 'sts']);
  });

  it('waits for what is missing', () => {
    expect(requestFor('a', { namespace: '', name: 'x' }, NEW_DRAFT)).toBeUndefined();
    expect(requestFor('a', account, { ...NEW_DRAFT, boundKind: 'Pod' })).toBeUndefined();
    expect(requestFor('a', account, { ...NEW_DRAFT, boundKind: 'Pod', boundName: 'p' })?.boundObjectRef).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p',
    });
  });
});
