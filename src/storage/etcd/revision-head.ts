import type { Revision } from '../contract.ts';
import type { Head } from './etcd-watch.ts';

/** The newest revision that any answer of etcd has told of. */
export class RevisionHead implements Head {
  readonly #listeners = new Set<() => void>();
  #revision: Revision = 0;

  get revision(): Revision {
    return this.#revision;
  }

  saw(revision: Revision): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    for (const listener of this.#listeners) listener();
  }

  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
