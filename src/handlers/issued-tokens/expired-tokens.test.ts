import { describe, expect, it } from 'vitest';
import { kindPrefix } from '../../api/kind.ts';
import { issuedTokenKind as kind } from '../../api/kinds/issued-token.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ALL_VISIBLE, NONE_VISIBLE } from '../../api/visibility.ts';
import { lonelyWork } from '../../lib/work-queue.fixture.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import { CacheState } from '../../storage/snapshot.ts';
import { getObject } from '../get.ts';
import type { Representation } from '../representation.ts';
import { type Selection, selectPage } from '../selection.ts';
import type { Views } from '../views.ts';
import { framesOfChange } from '../watch/catch-up.ts';
import { frameFor } from '../watch/frames.ts';
import { ViewChange } from '../watch/view-change.ts';

/** An expired token is not shown, whether or not the store has deleted its record. */

const prefix = kindPrefix(kind);
const END = '2026-08-01T12:00:00Z';
const NOW = Date.parse(END);

function token(name: string, expirationTimestamp: string | undefined): StoredObject {
  const value = Buffer.from(JSON.stringify({ metadata: { name }, spec: { expirationTimestamp } }));
  return new StoredObject(kind, { key: `${prefix}${name}`, value, modRevision: 7, createRevision: 7 });
}

const expired = token('a-expired', END);
const valid = [token('b-valid', '2026-08-01T12:00:01Z'), token('d-valid', '2026-08-02T12:00:00Z')];
const unreadable = token('c-unreadable', undefined);
const snapshot = CacheState.empty<StoredObject>({ indexLabels: true });
for (const entry of [expired, unreadable, ...valid]) snapshot.replace(undefined, entry);

const selection: Selection = {
  prefix,
  namesAreUnique: true,
  labels: parseLabelSelector(''),
  fields: parseFieldSelector(''),
  rule: ALL_VISIBLE,
  now: () => NOW,
};
const representation: Representation = {
  kind,
  form: 'object',
  includeObject: 'None',
  whole: undefined,
  clientAddress: '',
  now: () => NOW,
};

describe('an expired token', () => {
  it('is not listed and not counted, by index or without', async () => {
    const names = async (limit: number, chosen: Selection) => {
      const { items, remaining } = await selectPage(snapshot, chosen, { limit }, lonelyWork());
      return [items.map(({ name }) => name), remaining];
    };
    expect(await names(0, selection)).toEqual([['b-valid', 'd-valid'], 0]);
    expect(await names(1, selection)).toEqual([['b-valid'], 1]);
    expect(await names(0, { ...selection, fields: parseFieldSelector('metadata.name=a-expired') })).toEqual([[], 0]);
    expect(await names(1, { ...selection, now: () => NOW - 1 })).toEqual([['a-expired'], 2]);
  });

  it('is not found from its expiration time on', async () => {
    const get = (name: string, now: number) =>
      getObject(
        {
          reader: { reach: async () => {}, readable: () => snapshot } as unknown as ObjectReader,
          views: { now: () => now, whole: () => undefined } as unknown as Views,
        },
        {
          target: { name, namespace: '', alwaysPublic: false },
          query: new URLSearchParams(),
          accept: { as: 'object' },
        } as unknown as ApiRequest,
        kind,
      );
    await expect(get('a-expired', NOW)).rejects.toMatchObject({ status: { code: 404 } });
    await expect(get('c-unreadable', NOW)).rejects.toMatchObject({ status: { code: 404 } });
    expect(await get('a-expired', NOW - 1)).toMatchObject({ code: 200 });
    expect(await get('b-valid', NOW)).toMatchObject({ code: 200 });
  });

  it('is not sent to a watcher who may see it now, and its deletion is sent to one who knew it', () => {
    const view = { groupId: '', selection, representation };
    const change = new ViewChange(snapshot, { ...selection, rule: NONE_VISIBLE }, selection);
    const gained = [...framesOfChange(view, change, 9)].filter(({ length }) => length > 0);
    expect(gained.map((pieces) => JSON.parse(Buffer.concat(pieces).toString()).object.metadata.name)).toEqual([
      'b-valid',
      'd-valid',
    ]);
    const event = { cache: undefined as never, revision: 9, before: expired, after: undefined };
    expect(JSON.parse(String(Buffer.concat(frameFor(selection, representation, event) ?? [])))).toMatchObject({
      type: 'DELETED',
      object: { metadata: { name: 'a-expired' } },
    });
  });
});
