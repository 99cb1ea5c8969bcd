import { describe, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { type Form, type Representation, renderItems } from './representation.ts';

const ENTRIES = 200;

/** Objects that take a while to serialize; `shown` counts them. */
function slowEntries(shown: string[]): StoredObject[] {
  const seen = (name: string): void => {
    shown.push(name);
    const end = performance.now() + 0.2;
    while (performance.now() < end);
  };
  return Array.from({ length: ENTRIES }, (_, index) => {
    const name = `c-${index}`;
    const object = { apiVersion: 'v1', kind: 'Cluster', metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' } };
    const entry = {
      name,
      shown() {
        seen(name);
        return object;
      },
      json() {
        seen(name);
        return Buffer.from(JSON.stringify(object));
      },
    };
    return entry as unknown as StoredObject;
  });
}

const representation = (form: Form): Representation => ({
  kind: createCatalog({ productName: 'orchestrator' }).clusters,
  form,
  includeObject: 'Metadata',
  whole: { none: true, all: false, admits: () => false } as unknown as NonNullable<Representation['whole']>,
  clientAddress: '',
  now: () => 0,
});

describe.each(['object', 'table', 'partial-object-metadata'] as const)('A19: many items as %s', (form) => {
  it('are serialized in many ticks of the event loop', async () => {
    let ticks = 0;
    let done = false;
    const count = (): void => {
      ticks += 1;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    const items = await renderItems(representation(form), slowEntries([]), lonelyWork());
    done = true;
    expect(items).toHaveLength(ENTRIES);
    // Each takes at least 0.2 ms, so a tick has ten of them and a slice; a third of these ticks would do.
    expect(ticks).toBeGreaterThanOrEqual(ENTRIES / 32 - 2);
  });
});
