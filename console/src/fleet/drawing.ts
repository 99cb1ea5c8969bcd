/** When the page is drawn, and when a long piece of work makes room for it. */
export interface Drawing {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back in a frame of the page, so many milliseconds from now or later. Gives what calls that off. */
  soon(draw: () => void, afterMs: number): () => void;
  /** Lets the browser do what it has waiting: input, frames. */
  breathe(): Promise<void>;
}

/** Not in every browser yet. */
declare const scheduler: { yield?(): Promise<void> } | undefined;

/** In a page that nobody looks at there are no frames: it is drawn when somebody does. */
export const browserDrawing: Drawing = {
  now: Date.now,
  soon: (draw, afterMs) => {
    let frame = 0;
    const timer = setTimeout(() => {
      frame = requestAnimationFrame(draw);
    }, afterMs);
    return () => {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  },
  breathe: () =>
    (typeof scheduler === 'undefined' ? undefined : scheduler?.yield?.()) ??
    new Promise((resolve) => setTimeout(resolve, 0)),
};
