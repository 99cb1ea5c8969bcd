import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../src/storage/contract.ts';
import { compactionPromises } from './compaction-promises.ts';
import type { StoreUnderTest } from './harness.ts';
import { importPromises } from './import-promises.ts';
import { lifetimePromises } from './lifetime-promises.ts';
import { modelPromises } from './model-promises.ts';
import { readPromises } from './read-promises.ts';
import { tracedEngine } from './traced-engine.ts';
import { watchPromises } from './watch-promises.ts';
import { writePromises } from './write-promises.ts';

/** A new store for each test. */
export interface Fixture {
  store: Store;
  readonly engine: StoreUnderTest;
}

/** One test for each promise of src/storage/contract.ts. Every engine runs it. */
export function storeConformance(name: string, untraced: StoreUnderTest): void {
  describe(`${name} keeps the promises of a store`, () => {
    const engine = tracedEngine(untraced);
    const fixture = useFixture(engine);
    writePromises(fixture);
    readPromises(fixture);
    modelPromises(engine);
    watchPromises(fixture);
    compactionPromises(fixture);
    lifetimePromises(fixture);
  });
}

/** For engines that an import can fill. */
export function importConformance(name: string, engine: StoreUnderTest): void {
  describe(`an import into ${name}`, () => importPromises(useFixture(tracedEngine(engine))));
}

function useFixture(engine: StoreUnderTest): Fixture {
  const fixture = { engine } as Fixture;
  beforeEach(async () => {
    fixture.store = await engine.open();
  });
  afterEach(() => engine.destroy(fixture.store));
  return fixture;
}
