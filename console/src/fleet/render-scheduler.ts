/** Time, frames and tasks of the browser. A parameter of the store, so that tests control them. */
export interface RenderScheduler {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `render` in an animation frame, at the earliest after `delayMs`. Returns a function that cancels it. */
  schedule(render: () => void, delayMs: number): () => void;
  /** Resolves after the browser has handled pending input and frames. */
  yieldToBrowser(): Promise<void>;
}

/** Not available in every supported browser. */
declare const scheduler: { yield?(): Promise<void> } | undefined;

/** A hidden page gets no animation frames: it renders when it becomes visible. */
export const browserScheduler: RenderScheduler = {
  now: Date.now,
  schedule: (render, delayMs) => {
    let frame = 0;
    const timer = setTimeout(() => {
      frame = requestAnimationFrame(render);
    }, delayMs);
    return () => {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  },
  yieldToBrowser: () =>
    (typeof scheduler === 'undefined' ? undefined : scheduler?.yield?.()) ??
    new Promise((resolve) => setTimeout(resolve, 0)),
};
