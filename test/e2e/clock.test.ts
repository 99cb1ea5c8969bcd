import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from './support/server.ts';
import { CLUSTERS, codeFor, createCluster, createWorld, issue, tokenPath } from './support/token-world.ts';
import { brief, Watch } from './support/watch.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** The shortest lifetime that there is. */
const LIFETIME = 600 * SECOND;
/** The test itself takes time, and the clock goes on meanwhile: the edges are 59 and 61 s with this much to spare. */
const SPARE = 30 * SECOND;

let server: Server;
let folder: string;
let token: string;

async function moveClock(ms: number): Promise<void> {
  await writeFile(join(folder, 'clock'), String(ms));
  const said = `the clock is off by ${ms} ms`;
  const before = server.output.stdout.split(said).length;
  process.kill(server.pid, 'SIGUSR2');
  await expect.poll(() => server.output.stdout.split(said).length).toBe(before + 1);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-clock-'));
  server = await startServer({
    env: {
      NODE_OPTIONS: `--import=${new URL('./support/moved-clock.mjs', import.meta.url).href}`,
      CLUSTERPASS_TEST_CLOCK: join(folder, 'clock'),
    },
  });
  await createWorld(server);
  token = await issue(server, tokenPath(), { audiences: [], expirationSeconds: LIFETIME / SECOND });
});
afterAll(async () => {
  await server.destroy();
  await rm(folder, { recursive: true, force: true });
});

describe('B13: when the clock of the server jumps', () => {
  // Leeway is 60 s either way. The exact edges, to the millisecond, are in src/tokens/liveness.test.ts.
  it.each([
    ['back by less than the leeway', -(60 * SECOND - SPARE), 200],
    ['back by more than the leeway', -(60 * SECOND + SPARE), 401],
    ['back by an hour', -HOUR, 401],
    ['to within the leeway after the end', LIFETIME + 60 * SECOND - SPARE, 200],
    ['past the leeway after the end', LIFETIME + 60 * SECOND + SPARE, 401],
    ['ahead by an hour', HOUR, 401],
    ['to where it was', 0, 200],
  ])('%s: an issued token is judged by the clock as it is', async (_, ms, code) => {
    await moveClock(ms);
    expect(await codeFor(server, token)).toBe(code);
  });

  it.each([
    ['an hour back', -HOUR],
    ['an hour ahead', HOUR],
  ])('%s: new tokens say so and are good, writes and watches go on', async (_, ms) => {
    await moveClock(0);
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true`);
    await watch.take((await server.call('GET', CLUSTERS)).json.items.length);
    await moveClock(ms);
    const fresh = await issue(server);
    expect(Math.abs((decodeJwt(fresh).iat ?? 0) * 1000 - (Date.now() + ms))).toBeLessThan(SPARE);
    expect(await codeFor(server, fresh)).toBe(200);
    const name = ms < 0 ? 'before' : 'after';
    await createCluster(server, name);
    expect((await watch.take(1)).map(brief)).toEqual([`ADDED ${name}`]);
    watch.close();
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
    await moveClock(0);
  });
});
