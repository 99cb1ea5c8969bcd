import { expect, it } from 'vitest';
import { fleetKey, storageKey } from '../api/kind.ts';
import { accessRequestKind as kind } from '../api/kinds/access-request.ts';
import type { ApiRequest } from '../api/request.ts';
import { forbidden } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { StoredObject } from '../objects/stored-object.ts';
import { getListed } from './get.ts';
import type { Views } from './views.ts';

const NAME = 'x';

function ofCaller(caller: string, revision: number): StoredObject {
  const value = Buffer.from(JSON.stringify({ metadata: { name: NAME, labels: { caller } } }));
  const version = { value, modRevision: revision, createRevision: revision };
  return new StoredObject(kind, { key: storageKey(kind, fleetKey(NAME)), ...version });
}

const request = {
  target: { name: NAME, namespace: '', alwaysPublic: false },
  query: new URLSearchParams(),
  accept: { as: 'object' },
  caller: {},
} as unknown as ApiRequest;

/** Reads these versions, one after each time that the reader catches up. */
function readAs(caller: string, versions: readonly StoredObject[]) {
  let current = -1;
  const found = () => versions[current];
  const parts = {
    reader: {
      catchUp: async () => void current++,
      reach: async () => void current++,
      find: found,
      readable: () => ({ get: found }),
    } as unknown as ObjectReader,
    views: {
      now: () => 0,
      whole: () => undefined,
      rule: () => ({ admits: (_name: string, labels: Record<string, string>) => labels.caller === caller }),
    } as unknown as Views,
    refusalOf: () => forbidden(kind, NAME, 'not yours'),
  };
  return getListed(parts, request, kind);
}

it('shows an object of the caller', async () => {
  expect(await readAs('ann', [ofCaller('ann', 1), ofCaller('ann', 2)])).toMatchObject({ code: 200 });
});

it('does not show the object of another caller that took the name while the request waited', async () => {
  await expect(readAs('ann', [ofCaller('ann', 1), ofCaller('bob', 2)])).rejects.toMatchObject({
    status: { code: 403 },
  });
});
