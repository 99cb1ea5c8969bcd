import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ApiObject, kindPrefix } from '../../src/api/kind.ts';
import { binding, person, role } from '../../src/authz/policy/rbac.fixture.ts';
import { ROOT, sqliteApiCore } from './support/api-core.ts';
import { MemorySink } from './support/memory-sink.ts';

/**
 * A watch of RBAC rules depends on the rules that it shows. Changes that are committed together arrive together, and
 * still each takes effect before the next is shown.
 */

const U1 = person('u1');
const RBAC = 'rbac.authorization.k8s.io';

const core = sqliteApiCore(1_000);

async function put(object: ApiObject): Promise<void> {
  const { clusterRoles, clusterRoleBindings } = core().catalog;
  const kind = object.kind === 'ClusterRole' ? clusterRoles : clusterRoleBindings;
  await core().request({ caller: ROOT, verb: 'create', kind, body: object });
}

async function clear(): Promise<void> {
  const { items } = await core().store.list({ prefix: '/registry/' });
  await Promise.all(
    items.map(({ key, modRevision }) => core().store.write({ key, value: null, expect: { modRevision } })),
  );
  await core().reader.catchUp();
}

/** `revoke` deletes the binding, any other name changes the role of that name. All in one transaction. */
async function applyTogether(mutations: readonly string[]): Promise<{ revokedAt: number; changedAt: number[] }> {
  const { clusterRoles, clusterRoleBindings } = core().catalog;
  const revisions = await Promise.all(
    mutations.map(async (mutation) => {
      const revokes = mutation === 'revoke';
      const key = revokes ? `${kindPrefix(clusterRoleBindings)}watcher` : `${kindPrefix(clusterRoles)}${mutation}`;
      const current = before.get(key);
      if (current === undefined) throw new Error(`there is no ${key}`);
      // createRevision and not modRevision: the same role may change more than once.
      const { createRevision } = current;
      const result = await core().store.write({
        key,
        value: revokes ? null : current.value,
        expect: { createRevision },
      });
      expect(result.ok).toBe(true);
      return result.revision;
    }),
  );
  await core().reader.catchUp();
  const revokedAt = revisions[mutations.indexOf('revoke')] ?? 0;
  return { revokedAt, changedAt: revisions.filter((revision) => revision !== revokedAt) };
}

let before = new Map<string, { value: Uint8Array; createRevision: number }>();

describe('a watch of the rules themselves', () => {
  it('P-10: shows what changed before the permission went, nothing after it, and then ends with 403', async () => {
    const name = fc.constantFrom('x', 'y');
    await fc.assert(
      fc.asyncProperty(fc.array(name, { maxLength: 4 }), fc.array(name, { maxLength: 4 }), async (first, second) => {
        await clear();
        await put(role('watcher', [{ verbs: ['watch'], apiGroups: [RBAC], resources: ['clusterroles'] }]));
        await put(role('x', []));
        await put(role('y', []));
        await put(binding('watcher', 'ClusterRole/watcher', ['User:u1']));
        const { items } = await core().store.list({ prefix: '/registry/' });
        before = new Map(items.map((item) => [item.key, item]));

        const response = await core().request({
          caller: U1,
          verb: 'watch',
          kind: core().catalog.clusterRoles,
          query: { watch: 'true', resourceVersion: String(core().reader.revision) },
        });
        if (response.type !== 'watch') throw new Error(`unexpected response: ${response.type}`);
        const sink = new MemorySink(
          () => ({ broadcast: 0, newest: 0 }),
          () => {},
        );
        response.start(sink);
        const { revokedAt, changedAt } = await applyTogether([...first, 'revoke', ...second]);

        expect(sink.ending).toBe('ended');
        expect(sink.frames.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 403 } });
        expect(
          sink.frames.slice(0, -1).map(({ object }) => Number((object as ApiObject).metadata.resourceVersion)),
        ).toEqual(changedAt.filter((revision) => revision < revokedAt));
      }),
      { numRuns: 30 },
    );
    expect(core().broadcaster.size).toBe(0);
    expect(core().errors).toEqual([]);
  });
});
