/** For `node --import`: every timeout of the process comes after a fifth of its time. */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

const realSetTimeout = globalThis.setTimeout;
const realDelay = timers.setTimeout;

/** @type {(task: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => NodeJS.Timeout} */
const setTimeout = (task, ms = 0, ...args) => realSetTimeout(task, ms / 5, ...args);
globalThis.setTimeout = /** @type {typeof globalThis.setTimeout} */ (setTimeout);
/** @type {typeof timers.setTimeout} */
timers.setTimeout = (ms = 0, ...args) => realDelay(ms / 5, ...args);
syncBuiltinESMExports();
