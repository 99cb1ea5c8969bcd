import { expect, it } from 'vitest';
import { servePages } from '../paged-server.fixture.ts';
import { listBindings } from './bindings.ts';

it('lists the bindings again as one page if the server no longer has the version of the first pages', async () => {
  const binding = (name: string) => ({ metadata: { name }, roleRef: { kind: 'ClusterRole', name: 'view' } });
  const client = await servePages([[binding('a')], [binding('b')]], { expires: true });
  const names = (await listBindings(client)).map(({ kind, name }) => `${kind} ${name}`);
  expect(names).toEqual(['ClusterRoleBinding a', 'ClusterRoleBinding b', 'RoleBinding a', 'RoleBinding b']);
});
