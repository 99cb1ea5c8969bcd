import { describe, expect, test } from 'vitest';
import { refusal } from '../../api/refusal.fixture.ts';
import { readImpersonation } from './authorization-stages.ts';

const lines = (...pairs: [string, string][]) => pairs.map(([name, value]) => ({ name, value }));
describe('the user of Impersonate headers', () => {
  test('every field', () => {
    const found = readImpersonation(
      lines(
        ['impersonate-user', 'carol'],
        ['impersonate-group', 'viewers'],
        ['impersonate-extra-scopes', 'a'],
        ['impersonate-group', 'devs'],
        ['impersonate-extra-scopes', 'b'],
        ['impersonate-uid', 'u-1'],
      ),
    );
    expect(found).toEqual({ name: 'carol', uid: 'u-1', groups: ['viewers', 'devs'], extra: { scopes: ['a', 'b'] } });
  });

  test('IMP-19: the first of two names counts', () => {
    const found = readImpersonation(lines(['impersonate-user', 'carol'], ['impersonate-user', 'admin']));
    expect(found?.name).toBe('carol');
  });

  test('IMP-12: empty values name no user', () => {
    expect(readImpersonation(lines(['impersonate-user', ''], ['impersonate-uid', '']))).toBeUndefined();
  });

  test('IMP-17: keys are percent-decoded, unless an escape is broken', () => {
    const keyOf = (key: string) =>
      Object.keys(readImpersonation(lines(['impersonate-user', 'c'], [`impersonate-extra-${key}`, 'x']))?.extra ?? {});
    expect(keyOf('acme.com%2fproject')).toEqual(['acme.com/project']);
    expect(keyOf('a%2')).toEqual(['a%2']);
    expect(keyOf('__proto__')).toEqual(['__proto__']);
  });

  test('IMP-05, IMP-11: without a user name', () => {
    const found = refusal(() =>
      readImpersonation(
        lines(['impersonate-extra-b', '2'], ['impersonate-extra-a', '"1"'], ['impersonate-group', 'g']),
      ),
    );
    expect([found.code, found.message]).toEqual([
      400,
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string{"a":[]string{"\\"1\\""}, "b":[]string{"2"}}} without impersonating a user name',
    ]);
  });

  test.each(['impersonate-group', 'impersonate-uid', 'impersonate-extra-scopes'])(
    'IMP-11: %s alone is an error, and not a request as oneself',
    (name) => {
      expect(refusal(() => readImpersonation(lines([name, 'x']))).message).toMatch(
        /without impersonating a user name$/,
      );
    },
  );

  test('a header that is not known is an error', () => {
    expect(refusal(() => readImpersonation(lines(['impersonate-users', 'carol']))).message).toMatch(
      /^unknown header "impersonate-users": use Impersonate-User,/,
    );
  });
});
