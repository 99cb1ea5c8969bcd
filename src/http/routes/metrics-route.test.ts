import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WorkQueue } from '../../lib/work-queue.ts';
import { metricsRoutes } from './metrics-route.ts';

test('the text of metrics, which is long, is made in a turn of its caller', async () => {
  let time = 0;
  const ticks: (() => void)[] = [];
  const queue = new WorkQueue({ now: () => time, afterTick: (act) => void ticks.push(act) });
  let made = 0;
  const text = async (): Promise<string> => String(++made);
  const contentType = 'text/plain; version=0.0.4; charset=utf-8';
  const routes = metricsRoutes({ contentType, text }, () => Promise.reject(new Error('not asked')));
  const route = routes.find({ type: 'path', verb: 'get', cluster: undefined, path: '/metrics' });
  // Another caller has used up this tick.
  queue.job('other').turn();
  time = 100;
  const answer = route?.handle({
    ...{ caller: undefined, method: 'GET', cluster: undefined, path: '/metrics', asked: '/metrics' },
    ...{ query: new URLSearchParams(), accept: undefined, acceptEncoding: undefined, ifNoneMatch: undefined },
    work: queue.job('monitoring'),
  });
  await setImmediate();
  expect(made).toBe(0);
  ticks.shift()?.();
  expect(await answer).toMatchObject({ code: 200, body: '1' });
});
