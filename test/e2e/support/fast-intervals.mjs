/**
 * For `node --import`: what a process does at intervals, e.g. reading its files again, it does ten times as often. Not
 * what it does once a minute: bookmarks would come between the events of a watch.
 * Timeouts do not change.
 */
const realSetInterval = globalThis.setInterval;

/** @type {(task: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => NodeJS.Timeout} */
const setInterval = (task, ms = 0, ...args) => realSetInterval(task, ms < 60_000 ? ms / 10 : ms, ...args);
globalThis.setInterval = /** @type {typeof globalThis.setInterval} */ (setInterval);
