import { expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { type ApiObject, apiVersionOf, NOTHING_UNCHANGED, type OwnerReference } from '../api/kind.ts';
import { invalid } from '../api/status.ts';
import { validateObject } from './validate-object.ts';

const { clusters: kind } = createCatalog({ productName: 'orchestrator' });
const OWNER = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u1' };

const ownedBy = (...ownerReferences: OwnerReference[]): ApiObject => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  metadata: { name: 'a', ownerReferences },
});
const problemOf = (object: ApiObject, old?: ApiObject): string | undefined => {
  const context = { cluster: '', unchanged: NOTHING_UNCHANGED, ...(old === undefined ? {} : { old }) };
  const errors = validateObject(kind, object, context);
  return errors.length === 0 ? undefined : invalid(kind, 'a', errors).status.message?.split(' is invalid: ')[1];
};

it.each([
  [{ apiVersion: '' }, 'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty'],
  [{ apiVersion: 'apps/' }, 'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty'],
  [{ apiVersion: 'a/b/c' }, 'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
  [{ kind: '' }, 'metadata.ownerReferences.kind: Invalid value: "": kind must not be empty'],
  [{ name: '' }, 'metadata.ownerReferences.name: Invalid value: "": name must not be empty'],
  [{ uid: '' }, 'metadata.ownerReferences[0].uid: Required value: must not be empty'],
  [{ apiVersion: 'v1' }, undefined],
  [{}, undefined],
])('AP-47: an owner reference with %j: %s', (changes, problem) => {
  expect(problemOf(ownedBy({ ...OWNER, ...changes }))).toBe(problem);
});

it('AP-47: at most one owner is the controller', () => {
  const other = { ...OWNER, name: 'other', uid: 'u2' };
  expect(problemOf(ownedBy({ ...OWNER, controller: true }, { ...other, controller: false }))).toBeUndefined();
  const problem = problemOf(ownedBy({ ...OWNER, controller: true }, { ...other, controller: true }));
  expect(problem).toMatch(/^metadata\.ownerReferences: Invalid value: \[\{"apiVersion":"apps\/v1",/);
  expect(problem).toContain(
    'Only one reference can have Controller set to true. ' +
      'Found "true" in references for Deployment/web and Deployment/other',
  );
});
