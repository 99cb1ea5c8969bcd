import { expect, it } from 'vitest';
import { bootstrapToken, bootstrapTokenDigest } from '../api/bootstrap-credential.ts';
import type { ApiObject } from '../api/kind.ts';
import { Secret } from '../observability/secret.ts';
import { createBootstrapTokenAuthenticator } from './bootstrap-token-authenticator.ts';

const token = bootstrapToken('edge', Buffer.alloc(32, 7));
const stored: ApiObject = {
  apiVersion: 'clusterpass.dev/v1alpha1',
  kind: 'BootstrapToken',
  metadata: { name: 'edge', uid: 'u1' },
  spec: { tokenDigest: bootstrapTokenDigest(token), expirationTimestamp: '2026-01-01T01:00:00Z' },
};

it('A49: knows a bootstrap token until it expires, is deleted or is replaced', () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  let found: ApiObject | undefined = stored;
  const { authenticateToken } = createBootstrapTokenAuthenticator({ find: () => found, now: () => now });
  const caller = authenticateToken(new Secret(token));
  if (caller === undefined || caller instanceof Promise) throw new Error('no caller');
  expect(caller.as(undefined)).toEqual({
    name: 'system:bootstrap:edge',
    uid: 'u1',
    groups: ['system:bootstrappers'],
    extra: {},
  });
  expect([caller.bootstrapToken, caller.isLive(), caller.dependsOn.length]).toEqual(['edge', true, 1]);
  const other = bootstrapToken('edge', Buffer.alloc(32, 8));
  expect(() => authenticateToken(new Secret(other))).toThrow('no such bootstrap token: edge');
  expect(authenticateToken(new Secret('another-kind-of-token'))).toBeUndefined();

  found = { ...stored, metadata: { name: 'edge', uid: 'u2' } };
  expect(caller.isLive()).toBe(false);
  found = undefined;
  expect(caller.isLive()).toBe(false);
  expect(() => authenticateToken(new Secret(token))).toThrow('no such bootstrap token');
  found = stored;
  now = Date.parse('2026-01-01T01:00:00Z');
  expect(caller.isLive()).toBe(false);
  expect(() => authenticateToken(new Secret(token))).toThrow('the bootstrap token edge has expired');
  found = { ...stored, spec: { tokenDigest: bootstrapTokenDigest(token) } };
  expect(() => authenticateToken(new Secret(token))).toThrow('has expired');
});
