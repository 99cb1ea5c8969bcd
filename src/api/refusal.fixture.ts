import { ApiError, type Status } from './status.ts';

/** The Status of the ApiError that `run` throws. */
export function refusal(run: () => unknown): Status {
  const status = refusalIfAny(run);
  if (status === undefined) throw new Error('no ApiError was thrown');
  return status;
}

/** The Status of the ApiError that `run` throws; undefined if it returns. */
export function refusalIfAny(run: () => unknown): Status | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  return undefined;
}
