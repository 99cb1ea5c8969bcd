import type { Revision, Store, WatchBatch } from '../../src/storage/contract.ts';
import { type Step, TraceChecker } from '../chaos/trace-checker.ts';
import type { StoreUnderTest } from './harness.ts';

/** What a store of a test has done, also when it was opened again or filled by an import. */
class Trace {
  /** Of the writes and reads, and of the watches of each prefix. */
  readonly #checkers = new Map<string, TraceChecker>();
  #watches = 0;

  step(of: string, facts: Omit<Step, 'at' | 'by'>, by = 'reader'): void {
    const checker = this.#checkers.get(of) ?? new TraceChecker();
    this.#checkers.set(of, checker);
    checker.take('store', { at: performance.now(), by, ...facts });
  }

  get problems(): string[] {
    return [...this.#checkers.values()].flatMap(({ problems }) => problems);
  }

  /** The same store, whose steps are traced. */
  traced(store: Store): Store {
    const read = async <T>(call: Promise<T>, revisionOf: (answer: T) => Revision): Promise<T> => {
      const asked = performance.now();
      const answer = await call;
      this.step('', { step: 'read', revision: revisionOf(answer), took: performance.now() - asked });
      return answer;
    };
    const methods: Partial<Store> = {
      write: async (write) => {
        const result = await store.write(write);
        if (result.ok) this.step('', { step: 'acknowledged', revision: result.revision });
        return result;
      },
      revision: () => read(store.revision(), (revision) => revision),
      list: (request) =>
        request.revision === undefined ? read(store.list(request), ({ revision }) => revision) : store.list(request),
      watch: (prefix, after, signal) => this.#watch(store.watch(prefix, after, signal), prefix, after),
    };
    return new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async *#watch(batches: AsyncIterable<WatchBatch>, prefix: string, after: Revision): AsyncGenerator<WatchBatch> {
    const by = `watch ${++this.#watches}`;
    this.step(prefix, { step: 'filled', revision: after }, by);
    for await (const batch of batches) {
      for (const { key, modRevision } of batch.changes)
        this.step(prefix, { step: 'applied', revision: modRevision, key }, by);
      yield batch;
    }
  }
}

/** The same engine. The steps of its stores are checked by the rules of the models, as those of processes are. */
export function tracedEngine(engine: StoreUnderTest): StoreUnderTest {
  const traces = new WeakMap<Store, { readonly store: Store; readonly trace: Trace }>();
  const add = (store: Store, trace = new Trace()): Store => {
    const traced = trace.traced(store);
    traces.set(traced, { store, trace });
    return traced;
  };
  const known = (traced: Store) => traces.get(traced) ?? { store: traced, trace: new Trace() };
  return {
    open: async () => add(await engine.open()),
    async reopen(traced) {
      const { store, trace } = known(traced);
      return add(await engine.reopen(store), trace);
    },
    async seedRevision(traced, revision) {
      const { store, trace } = known(traced);
      const seeded = await engine.seedRevision(store, revision);
      // ADR 14: as if it had been read in the store before.
      trace.step('', { step: 'acknowledged', revision });
      return add(seeded, trace);
    },
    async destroy(traced) {
      const { store, trace } = known(traced);
      await engine.destroy(store);
      if (trace.problems.length > 0) throw new Error(trace.problems.join('\n'));
    },
  };
}
