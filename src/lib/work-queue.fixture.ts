import { type Work, WorkQueue } from './work-queue.ts';

/** The turns of a job that competes with no other. */
export const lonelyWork = (request?: { readonly signal: AbortSignal }): Work => new WorkQueue().job('test', request);
