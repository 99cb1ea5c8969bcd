/**
 * For `node --import`: at SIGUSR2 the process says by how many milliseconds its event loop was late since the last time,
 * sampled every millisecond. Node's own figure has the interval of the samples in it; here it is taken off.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 1;

if (isMainThread) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  process.on('SIGUSR2', () => {
    const late = (/** @type {number} */ nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
    const figures = { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) };
    process.stdout.write(`event loop ${JSON.stringify({ ...figures, samples: delays.count })}\n`);
    delays.reset();
  });
}
