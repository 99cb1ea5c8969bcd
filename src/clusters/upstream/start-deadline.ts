interface Deadline {
  /** Aborts at the deadline, or with the caller's signal. */
  readonly signal: AbortSignal;
  /** Whether it aborted because of the deadline. */
  hasPassed(): boolean;
  /** The work is done. */
  clear(): void;
}

/**
 * As `AbortSignal.any` with `AbortSignal.timeout`, but without a timer after the work is done: those two run until the
 * timeout, and then create an error that nothing uses.
 */
export function startDeadline(ms: number, by: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  const abort = (): void => controller.abort(by?.reason);
  const timer = setTimeout(() => {
    hasPassed = !controller.signal.aborted;
    controller.abort(new DOMException('the deadline has passed', 'TimeoutError'));
  }, ms);
  if (by?.aborted === true) abort();
  by?.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    hasPassed: () => hasPassed,
    clear: () => {
      clearTimeout(timer);
      by?.removeEventListener('abort', abort);
    },
  };
}
