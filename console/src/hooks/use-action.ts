import { useState } from 'react';
import { type Failure, failureOf, NO_FAILURE } from '../error-message.ts';

/** What a button of a page does at the server. */
export interface Action {
  readonly busy: boolean;
  /** Why it failed; `""` if it did not. */
  readonly problem: string;
  readonly failure: Failure;
  /** Does nothing while it is busy. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

export function useAction(initialProblem = ''): Action {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>({ ...NO_FAILURE, message: initialProblem });
  const run = async (work: () => Promise<void>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setFailure(NO_FAILURE);
    try {
      await work();
    } catch (error) {
      setFailure(failureOf(error));
    }
    setBusy(false);
  };
  return { busy, problem: failure.message, failure, run };
}
