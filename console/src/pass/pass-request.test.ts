import { expect, it } from 'vitest';
import { missingInput, NEW_DRAFT, requestFor } from './pass-request.ts';

const account = { namespace: 'ci', name: 'builder' };

it('requests the default audience unless audiences are given', () => {
  expect(requestFor('a', account, NEW_DRAFT)).toEqual({
    cluster: 'a',
    ...account,
    audiences: [],
    expirationSeconds: 3_600,
    tracked: true,
  });
  expect(requestFor('a', account, { ...NEW_DRAFT, audiences: ' vault, ,sts ' }).audiences).toEqual(['vault', 'sts']);
});

it('names the bound object', () => {
  expect(requestFor('a', account, { ...NEW_DRAFT, boundKind: 'Pod', boundName: 'p' }).boundObjectRef).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'p',
  });
});

it('says which input is missing', () => {
  expect(missingInput({ namespace: '', name: 'x' }, NEW_DRAFT)).toContain('namespace');
  expect(missingInput(account, { ...NEW_DRAFT, boundKind: 'Pod' })).toBe('Enter the name of the Pod.');
  expect(missingInput(account, { ...NEW_DRAFT, boundKind: 'Pod', boundName: 'p' })).toBe('');
  expect(missingInput(account, NEW_DRAFT)).toBe('');
});
