import { expect, it } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { mirroredState } from './mirror.ts';

const source = (kind: string, name: string, deletionTimestamp?: string): ApiObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'ci', uid: `uid-${name}`, ...(deletionTimestamp && { deletionTimestamp }) },
});

it('A4: an account or a Pod that is deleted in the cluster has no copy, though a finalizer keeps it there', () => {
  const deleted = '2026-01-01T00:00:00Z';
  const { objects } = mirroredState(
    [
      source('ServiceAccount', 'builder'),
      source('ServiceAccount', 'leaving', deleted),
      // Of a Pod it is the end of the grace period, in which it needs tokens.
      source('Pod', 'web-0', deleted),
      source('Pod', 'kept-0', '2025-12-31T23:59:00Z'),
    ],
    'id',
    Date.parse(deleted) + 1,
  );
  expect([...objects.keys()]).toEqual(['serviceaccounts/ci/builder', 'pods/ci/web-0']);
});
