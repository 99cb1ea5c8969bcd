import { expect, test } from 'vitest';
import type { Caller } from './caller.ts';
import { type ApiRequest, requestAbout, type Target } from './request.ts';

const target: Target = {
  verb: 'create',
  cluster: undefined,
  group: '',
  version: 'v1',
  resource: 'passes',
  subresource: 'token',
  namespace: '',
  name: 'a',
  alwaysPublic: false,
};

test('a request about another object keeps every other field', () => {
  const { signal } = new AbortController();
  const callerNamed = (key: string): Caller => ({ key }) as unknown as Caller;
  const request: ApiRequest = {
    caller: callerNamed('ada'),
    actor: callerNamed('robot'),
    agent: { id: 'editor', name: 'Editor' },
    target,
    query: new URLSearchParams('dryRun=All'),
    body: undefined,
    warn: () => {},
    path: '/path',
    accept: { mediaType: 'application/json', as: 'object' },
    auditId: 'id',
    annotate: () => {},
    nameObject: () => {},
    willAnswer: () => {},
    clientAddress: '192.0.2.1',
    userAgent: 'kubectl',
    signal,
  };
  const other = { ...target, resource: 'serviceaccounts' };
  const body = { bytes: Buffer.from('{}'), mediaType: 'application/json' };
  const { nameObject, ...fields } = requestAbout(request, other, body);
  expect({ ...fields, nameObject: request.nameObject }).toEqual({ ...request, target: other, body });
  expect(nameObject).toBeTypeOf('function');
});
