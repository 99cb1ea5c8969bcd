import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CONTROLLER_FIELD } from '../../api/kinds/cluster.ts';
import { controllerOf } from '../../api/kinds/cluster-spec.ts';
import { storageKey } from '../../api/object-key.ts';
import { StoredObject, supportedFields, toStoredBytes } from '../../objects/stored-object.ts';
import { issuesOwnTokens } from './forward-token.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });

describe('issuesOwnTokens', () => {
  it('says of a stored cluster what the whole object says', () => {
    const name = fc.option(fc.constantFrom('', 'fleet'), { nil: undefined });
    const controller = fc.option(fc.record({ namespace: name, name }), { nil: undefined });
    const spec = fc.option(fc.record({ authInfo: fc.option(fc.record({ controller }), { nil: undefined }) }), {
      nil: undefined,
    });
    fc.assert(
      fc.property(spec, (value) => {
        const object: ApiObject = { apiVersion: '', kind: '', metadata: { name: 'a' }, spec: value };
        const bytes = toStoredBytes(clusters, object);
        const key = storageKey(clusters, { cluster: '', namespace: '', name: 'a' });
        const stored = new StoredObject(clusters, { key, value: bytes, modRevision: 1, createRevision: 1 });
        expect(issuesOwnTokens(stored)).toBe(controllerOf(object) !== undefined);
      }),
    );
  });

  it('reads a field that callers cannot select by', () => {
    expect(supportedFields(clusters)).not.toContain(CONTROLLER_FIELD);
  });
});
