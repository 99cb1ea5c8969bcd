import { afterEach, expect, test } from 'vitest';
import { type Server, startServer } from './support/server.ts';

let server: Server;
afterEach(() => server?.destroy());
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

test('B20: requests are served while standard error is not read; lines that do not fit are dropped and counted', async () => {
  server = await startServer({ unreadLog: true });
  await refuseMany(FILL_BUFFER);
  const dropped = await droppedLines();
  expect(dropped).toBeGreaterThan(0);
  server.readLog();
  await expect.poll(() => server.output.stderr, { timeout: MAX_MS }).toContain('log lines were dropped');
  const lines = server.output.stderr.trimEnd().split('\n');
  const notices = lines.map((line) => JSON.parse(line)).filter(({ dropped: count }) => count !== undefined);
  expect(notices).toEqual([expect.objectContaining({ level: 'warn', dropped })]);
  expect(await droppedLines()).toBe(dropped);
});
