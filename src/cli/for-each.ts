import { isStatus, type StatusError } from '../client/errors.ts';
import type { Approvable } from './approvable.ts';
import type { Context } from './command.ts';
import { describeError, isObjectError } from './describe-error.ts';

/** Calls `act` for each name. An error of one does not keep the others from being done. Returns the exit code. */
export async function forEach(
  context: Context,
  of: Approvable,
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<number> {
  let failed = 0;
  for (const name of names) {
    try {
      await act(name);
    } catch (error) {
      if (!isObjectError(error)) throw error;
      failed++;
      context.err.write(`${describeError(error)}\n${mayBeAbsent(error) ? `${of.absence}\n` : ''}`);
    }
  }
  return failed > 0 ? 1 : 0;
}

/** The server refuses an object that does not exist like one for which the caller has no permission. */
export const mayBeAbsent = (error: unknown): error is StatusError =>
  isStatus(error, 404) || (isStatus(error, 403) && / cannot \w+ resource /.test(error.message));
