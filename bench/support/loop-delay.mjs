/**
 * Loaded into the server by `--import`. At SIGUSR2 it prints the delay of the event loop since the last time, sampled
 * every millisecond. Node's figure includes the interval of the samples, which is subtracted here.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 1;

if (isMainThread) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  process.on('SIGUSR2', () => {
    const delay = (/** @type {number} */ nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
    const { count, max } = histogram;
    const figures = { p50: delay(histogram.percentile(50)), p99: delay(histogram.percentile(99)), max: delay(max) };
    process.stdout.write(`event loop ${JSON.stringify({ ...figures, samples: count })}\n`);
    histogram.reset();
  });
}
