import { type Client, isStatus, type TrackedToken } from '../../../src/client/index.ts';
import { errorMessage } from '../error-message.ts';

/** Requests at a time. A browser has six connections to a server over HTTP/1.1, and the watch needs one. */
const PARALLEL = 4;

interface RevocationFailure {
  readonly pass: TrackedToken;
  readonly message: string;
}

/** The revocation of selected passes. */
export interface RevocationRun {
  readonly total: number;
  readonly done: number;
  /** Grows while the run is under way. */
  readonly failures: readonly RevocationFailure[];
  /** The passes that were left when the server rejected the token, or when the run was stopped. */
  readonly untried: readonly TrackedToken[];
  readonly isRunning: boolean;
}

/** The passes of a run that the server has not confirmed as revoked. */
export const unrevokedIn = ({ total, done, failures }: RevocationRun): number => total - done + failures.length;

/** Revokes passes one run after the other. It outlives the page of passes, so that leaving it loses no failure. */
export class RevocationRuns {
  readonly #client: Pick<Client, 'revokeToken'>;
  readonly #listeners = new Set<() => void>();
  #run: RevocationRun | undefined;
  #stopping = new AbortController();
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
    this.#stopping = new AbortController();
    const { signal } = this.#stopping;
    const failures: RevocationFailure[] = [];
    let run: RevocationRun = { total: passes.length, done: 0, failures, untried: [], isRunning: true };
    this.#set(run);
    const waiting = passes.values();
    let isRejected = false;
    const revokeWaiting = async (): Promise<void> => {
      while (!isRejected && !signal.aborted) {
        const { value: pass } = waiting.next();
        if (pass === undefined) return;
        try {
          await this.#client.revokeToken(pass.metadata.name, { signal });
        } catch (error) {
          // The client has tried another token, if there is one: the server would reject every further request.
          isRejected ||= isStatus(error, 401);
          failures.push({ pass, message: errorMessage(error) });
        }
        run = { ...run, done: run.done + 1 };
        this.#set(run);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, revokeWaiting));
    this.#finished++;
    this.#set({ ...run, untried: [...waiting], isRunning: false });
  }

  /** Ends the current run, if there is one. Requests under way are aborted, so that none is sent again. */
  stop(): void {
    this.#stopping.abort();
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
