import { ApiError, type Status } from './status.ts';

/** The Status of the ApiError that `run` throws. */
export function refusal(run: () => unknown): Status {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error('no ApiError was thrown');
}
