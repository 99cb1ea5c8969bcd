/** What src/start-workers.ts and src/worker-process.ts say to each other. */

/** What a worker tells the process that started it. */
export type FromWorker =
  | { readonly store: unknown }
  /** It serves. */
  | { readonly ready: string }
  /** It could not start; the sentence is for the operator. */
  | { readonly failed: string };

export type ToWorker = { readonly store: unknown } | { readonly stop: true };
