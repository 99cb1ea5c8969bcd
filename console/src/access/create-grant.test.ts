import { expect, it } from 'vitest';
import { type Client, StatusError } from '../../../src/client/index.ts';
import { createGrant } from './create-grant.ts';
import type { GrantObject } from './grant-manifest.ts';

const objectOf = (kind: 'Role' | 'FleetRoleBinding'): GrantObject => ({
  apiVersion: kind === 'Role' ? 'rbac.authorization.k8s.io/v1' : 'clusterpass.dev/v1alpha1',
  kind,
  metadata: { name: 'a', ...(kind === 'Role' ? { namespace: 'n' } : {}) },
});

const refusal = (code: number): StatusError =>
  new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });

it.each([
  ['deletes the role of a binding that was refused', refusal(403), ['POST', 'POST', 'DELETE']],
  ['keeps the role of a binding that may be stored', refusal(504), ['POST', 'POST']],
  ['keeps the role of a binding without an answer', new TypeError('connection lost'), ['POST', 'POST']],
])('%s', async (_, error, methods) => {
  const sent: string[] = [];
  const request = async (method: string, path: string): Promise<unknown> => {
    sent.push(method);
    if (method === 'POST' && path.endsWith('/fleetrolebindings')) throw error;
    return {};
  };
  const granted = createGrant({ request } as unknown as Client, [objectOf('Role'), objectOf('FleetRoleBinding')]);
  await expect(granted).rejects.toBe(error);
  expect(sent).toEqual(methods);
});
