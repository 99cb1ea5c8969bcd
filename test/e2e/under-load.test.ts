import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCluster, createObjects } from './support/objects.ts';
import { openSocket } from './support/open-socket.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines } from './support/run.ts';
import { type Server, startServer } from './support/server.ts';
import { stopUnderLoad } from './support/stop-under-load.ts';
import { brief, Watch } from './support/watch.ts';

let server: Server;
beforeAll(async () => {
  // Long enough for this process to notice that readiness has failed, on a busy machine too.
  server = await startServer({ unreadLog: true, args: ['--shutdown-delay', '3s'] });
});
afterAll(() => server.destroy());

const FILL_BUFFER = 4_000;
/** A server that waits for its log would never answer. */
const MAX_MS = 60_000;

async function refuseMany(count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 50) {
    const paths = Array.from({ length: 50 }, (_, i) => `/nowhere/${sent + i}/${'x'.repeat(240)}`);
    const answers = await Promise.all(
      paths.map((path) => server.call('GET', path, { signal: AbortSignal.timeout(MAX_MS) })),
    );
    for (const { code } of answers) expect(code).toBe(404);
  }
}

const droppedLines = async (): Promise<number> => {
  const { text } = await server.call('GET', '/metrics');
  return Number(/^clusterpass_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
};

it('B20: requests are served while standard error is not read; lines that do not fit are dropped and counted', async () => {
  await refuseMany(FILL_BUFFER);
  const dropped = await droppedLines();
  expect(dropped).toBeGreaterThan(0);
  server.readLog();
  await expect.poll(() => server.output.stderr, { timeout: MAX_MS }).toContain('log lines were dropped');
  const notices = logLines(server.output.stderr).filter(({ dropped: count }) => count !== undefined);
  expect(notices).toEqual([expect.objectContaining({ level: 'warn', dropped })]);
  expect(await droppedLines()).toBe(dropped);
});

describe('B3, B16: a stop under load', () => {
  // By the number of requests, so that it is the same on every machine.
  it('loses no request and no acknowledged write, and ends every watch with a bookmark', async () => {
    await createObjects(server);
    const version = (await server.call('GET', CLUSTERS)).json.metadata.resourceVersion;
    const stopped = await stopUnderLoad(server, { watches: 50, rate: 500, before: 100 });
    expect(Object.keys(stopped.answers)).toEqual(['201']);
    expect(stopped.whileStopping).toBeGreaterThan(0);
    expect(stopped.ready).toBe(503);
    expect(new Set(stopped.endings)).toEqual(new Set(['BOOKMARK']));
    // The clients close their connections after that, so it waited for none of them. Had it given up, responses
    // and bookmarks would be missing.
    expect(stopped.exitCode).toBe(0);

    server = await server.restart();
    server.readLog();
    const { json } = await server.call('GET', CLUSTERS);
    const names = json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(stopped.acknowledged.length).toBeGreaterThan(0);
    expect(names).toEqual(expect.arrayContaining([...stopped.acknowledged]));
    await createCluster(server, 'afterwards');

    // B3: a watch is resumed across the restart, without gap or repetition.
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true&resourceVersion=${version}`);
    const events = await watch.until(({ object }) => object.metadata.name === 'afterwards');
    watch.close();
    expect(events.map(brief)).toEqual(expect.arrayContaining(stopped.acknowledged.map((name) => `ADDED ${name}`)));
    expect(new Set(events.map(brief)).size).toBe(events.length);
  });

  it('ends at once after a second signal', async () => {
    const socket = await openSocket(server);
    // The response `100 Continue` shows that the request is in flight.
    const head = ['Host: x', `Authorization: Bearer ${server.adminToken}`, 'Content-Type: application/json'];
    socket.write(
      [`POST ${CLUSTERS} HTTP/1.1`, ...head, 'Content-Length: 10', 'Expect: 100-continue', '\r\n'].join('\r\n'),
    );
    await socket.until('100 Continue');
    const stopped = server.stop();
    await expect.poll(() => server.output.stderr).toContain('"stopping"');
    process.kill(server.pid, 'SIGTERM');
    expect(await stopped).toBe(1);
  });
});
