import type { Client, TrackedToken } from '../../../src/client/index.ts';
import { errorMessage } from '../error-message.ts';

/** Requests at a time. A browser has six connections to a server over HTTP/1.1, and the watch needs one. */
const PARALLEL = 4;

export interface RevocationFailure {
  readonly pass: TrackedToken;
  readonly message: string;
}

/** The revocation of selected passes. */
export interface RevocationRun {
  readonly total: number;
  readonly done: number;
  readonly failures: readonly RevocationFailure[];
  readonly isRunning: boolean;
}

/** Revokes passes one run after the other. It outlives the page of passes, so that leaving it loses no failure. */
export class RevocationRuns {
  readonly #client: Pick<Client, 'revokeToken'>;
  readonly #listeners = new Set<() => void>();
  #run: RevocationRun | undefined;
  #finished = 0;

  constructor(client: Pick<Client, 'revokeToken'>) {
    this.#client = client;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The current run, or the last one until it is dismissed. */
  get run(): RevocationRun | undefined {
    return this.#run;
  }

  /** How many runs have ended. */
  get finished(): number {
    return this.#finished;
  }

  /** Does nothing while a run is under way. */
  async start(passes: readonly TrackedToken[]): Promise<void> {
    if (this.#run?.isRunning === true) return;
    let run: RevocationRun = { total: passes.length, done: 0, failures: [], isRunning: true };
    this.#set(run);
    const waiting = passes.values();
    const revokeWaiting = async (): Promise<void> => {
      for (const pass of waiting) {
        const message = await this.#revoke(pass);
        const failures = message === '' ? run.failures : [...run.failures, { pass, message }];
        run = { ...run, done: run.done + 1, failures };
        this.#set(run);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, revokeWaiting));
    this.#finished++;
    this.#set({ ...run, isRunning: false });
  }

  /** Why it failed; `""` if it did not. */
  async #revoke({ metadata }: TrackedToken): Promise<string> {
    try {
      await this.#client.revokeToken(metadata.name);
      return '';
    } catch (error) {
      return errorMessage(error);
    }
  }

  /** Forgets a run that has ended. */
  dismiss(): void {
    if (this.#run?.isRunning !== true) this.#set(undefined);
  }

  #set(run: RevocationRun | undefined): void {
    this.#run = run;
    for (const listener of this.#listeners) listener();
  }
}
