import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import { ALL_VISIBLE, NONE_VISIBLE } from '../../api/visibility.ts';
import type { ReadableEvent } from '../../objects/readable.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import type { Representation } from '../representation.ts';
import type { Selection } from '../selection.ts';
import { createEventFrames, frameFor } from './frames.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });

let lastId = 0;
const nextId = (): number => ++lastId;
function versionOf(revision: number, labels: Record<string, string>): StoredObject {
  const value = Buffer.from(JSON.stringify({ apiVersion: 'x', kind: 'x', metadata: { name: 'a', labels } }));
  const stored = { key: '/registry/clusters/a', value, modRevision: revision, createRevision: 1 };
  return new StoredObject(clusters, { ...stored, key: stored.key }, (object) => ({
    ...object,
    spec: { public: true },
  }));
}

const selectionOf = (labels: string): Selection => ({
  prefix: '',
  namesAreUnique: true,
  labels: parseLabelSelector(labels),
  fields: parseFieldSelector(''),
  rule: ALL_VISIBLE,
});

const formOf = (form: Representation['form'], whole = NONE_VISIBLE): Representation => ({
  kind: clusters,
  form,
  includeObject: 'Metadata',
  whole,
  clientAddress: '',
  now: () => 0,
});

const textOf = (parts: readonly { readonly bytes: Uint8Array }[] | undefined): string =>
  Buffer.concat((parts ?? []).map(({ bytes }) => bytes)).toString();

const change: ReadableEvent = {
  revision: 5,
  before: versionOf(4, { env: 'dev', old: '1' }),
  after: versionOf(5, { env: 'dev', new: '1' }),
};

describe('the frames of one event', () => {
  it('are those of each watch alone', () => {
    for (const event of [change, { ...change, before: undefined }, { ...change, after: undefined }]) {
      const frames = createEventFrames(event, 7, nextId);
      for (const selector of ['new', 'env', 'old', 'none']) {
        for (const form of ['object', 'partial-object-metadata'] as const) {
          for (const whole of [ALL_VISIBLE, NONE_VISIBLE]) {
            const view = [selectionOf(selector), formOf(form, whole)] as const;
            const alone = frameFor(...view, event);
            expect(textOf(frames(...view))).toBe(Buffer.concat(alone ?? []).toString());
          }
        }
      }
    }
  });

  it('differ where the views do', () => {
    const frames = createEventFrames(change, 1_000_000, nextId);
    const views = (['object', 'table', 'partial-object-metadata'] as const).flatMap((form) =>
      [ALL_VISIBLE, NONE_VISIBLE].map((whole) => formOf(form, whole)),
    );
    const none = formOf('table');
    views.push({ ...none, includeObject: 'None' }, { ...none, clientAddress: '::1' });
    const made = views.map((view) => frames(selectionOf(''), view));
    expect(new Set(made.flat()).size).toBe(views.length);
  });

  it('B-05: name the columns in the first event of each stream, though streams share them', () => {
    const streams = Array.from({ length: 3 }, () => ({ ...formOf('table'), streamed: { namesColumns: true } }));
    const columnsIn = (event: ReadableEvent): boolean[] => {
      const frames = createEventFrames(event, 1_000_000, nextId);
      return streams.map(
        (stream) => JSON.parse(textOf(frames(selectionOf(''), stream))).object.columnDefinitions !== null,
      );
    };
    expect(columnsIn(change)).toEqual([true, true, true]);
    expect(columnsIn(change)).toEqual([false, false, false]);
  });

  it('are cut when they are long; only the last part counts as an event', () => {
    const parts = createEventFrames(change, 50, nextId)(selectionOf(''), formOf('object')) ?? [];
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.map(({ events }) => events)).toEqual([...parts.slice(1).map(() => 0), 1]);
    expect(parts.every(({ bytes }) => bytes.length <= 50)).toBe(true);
    expect(JSON.parse(textOf(parts)).object.metadata.name).toBe('a');
  });
});
