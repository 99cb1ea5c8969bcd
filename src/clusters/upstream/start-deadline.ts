export interface Deadline {
  /** Aborts at the deadline, or when whoever asked no longer wants the answer. */
  readonly signal: AbortSignal;
  /** Whether it was the time that ended it. */
  isOver(): boolean;
  /** What was waited for is there. */
  clear(): void;
}

/**
 * As `AbortSignal.any` with `AbortSignal.timeout`, but nothing is left when the work is done: those two go on until the
 * time is over, and then make an error for nobody.
 */
export function startDeadline(ms: number, by: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const abort = (): void => controller.abort(by?.reason);
  const timer = setTimeout(() => {
    isOver = !controller.signal.aborted;
    controller.abort(new DOMException('the time is over', 'TimeoutError'));
  }, ms);
  if (by?.aborted === true) abort();
  by?.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    isOver: () => isOver,
    clear: () => {
      clearTimeout(timer);
      by?.removeEventListener('abort', abort);
    },
  };
}
