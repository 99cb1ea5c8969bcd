import { ApiError, type Status } from './status.ts';

/** What is said when this is refused, as it should be. */
export function refusal(run: () => unknown): Status {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error('it was accepted');
}
