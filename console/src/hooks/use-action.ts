import { useState } from 'react';
import { errorMessage } from '../error-message.ts';

/** What a button of a page does at the server. */
export interface Action {
  readonly busy: boolean;
  /** Why it failed; `""` if it did not. */
  readonly problem: string;
  readonly clearProblem: () => void;
  /** Does nothing while it is busy. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

export function useAction(initialProblem = ''): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(initialProblem);
  const run = async (work: () => Promise<void>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await work();
    } catch (error) {
      setProblem(errorMessage(error));
    }
    setBusy(false);
  };
  return { busy, problem, clearProblem: () => setProblem(''), run };
}
