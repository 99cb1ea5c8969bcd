import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../src/api/kind.ts';
import { kindPrefix } from '../../src/api/object-key.ts';
import { binding, person, role } from '../../src/authz/rbac.fixture.ts';
import { houseOnDisk, ROOT } from './support/house.ts';
import { MemorySink } from './support/watch-client.ts';

/**
 * Whoever watches the rules is watching what decides whether they may. Changes that the store commits together
 * arrive together, and still each takes effect before the next is shown.
 */

const U1 = person('u1');
const RBAC = 'rbac.authorization.k8s.io';

const house = houseOnDisk(1_000);

async function put(object: ApiObject): Promise<void> {
  const { clusterRoles, clusterRoleBindings } = house().catalog;
  const kind = object.kind === 'ClusterRole' ? clusterRoles : clusterRoleBindings;
  await house().ask({ caller: ROOT, verb: 'create', kind, body: object });
}

async function clear(): Promise<void> {
  const { items } = await house().store.list({ prefix: '/registry/' });
  await Promise.all(
    items.map(({ key, modRevision }) => house().store.write({ key, value: null, expect: { modRevision } })),
  );
  await house().reader.catchUp();
}

/** `revoke` takes the permission away, anything else changes the role of that name. All in one tick of the store. */
async function atOnce(deeds: readonly string[]): Promise<{ revokedAt: number; changedAt: number[] }> {
  const { clusterRoles, clusterRoleBindings } = house().catalog;
  const revisions = await Promise.all(
    deeds.map(async (deed) => {
      const revokes = deed === 'revoke';
      const key = revokes ? `${kindPrefix(clusterRoleBindings)}watcher` : `${kindPrefix(clusterRoles)}${deed}`;
      const current = before.get(key);
      if (current === undefined) throw new Error(`there is no ${key}`);
      // By the key's creation and not by its version: the same role may change more than once.
      const { createRevision } = current;
      const result = await house().store.write({
        key,
        value: revokes ? null : current.value,
        expect: { createRevision },
      });
      expect(result.ok).toBe(true);
      return result.revision;
    }),
  );
  await house().reader.catchUp();
  const revokedAt = revisions[deeds.indexOf('revoke')] ?? 0;
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
        const { items } = await house().store.list({ prefix: '/registry/' });
        before = new Map(items.map((item) => [item.key, item]));

        const answer = await house().ask({
          caller: U1,
          verb: 'watch',
          kind: house().catalog.clusterRoles,
          query: { watch: 'true', resourceVersion: String(house().reader.revision) },
        });
        if (answer.type !== 'watch') throw new Error(`a watch is answered with a ${answer.type}`);
        const sink = new MemorySink(
          () => ({ handedOut: 0, newest: 0 }),
          () => {},
        );
        answer.start(sink);
        const { revokedAt, changedAt } = await atOnce([...first, 'revoke', ...second]);

        expect(sink.ending).toBe('ended');
        expect(sink.frames.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 403 } });
        expect(
          sink.frames.slice(0, -1).map(({ object }) => Number((object as ApiObject).metadata.resourceVersion)),
        ).toEqual(changedAt.filter((revision) => revision < revokedAt));
      }),
      { numRuns: 30 },
    );
    expect(house().broadcaster.size).toBe(0);
    expect(house().errors).toEqual([]);
  });
});
