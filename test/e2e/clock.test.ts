import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeFor, createCluster, createObjects, issue, remove, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer } from './support/server.ts';
import { brief, Watch } from './support/watch.ts';

const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const ROTATE = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' };
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** The shortest lifetime of a token. */
const LIFETIME = 600 * SECOND;
/** Seconds that the test itself may take: the edges are at 59 and 61 s. */
const SPARE = 30 * SECOND;

let server: Server;
let folder: string;
let token: string;

const movedBy = (file: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('./support/moved-clock.mjs', import.meta.url).href}`,
  CLUSTERPASS_TEST_CLOCK: file,
});

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
    env: movedBy(join(folder, 'clock')),
  });
  await createObjects(server);
  token = await issue(server, tokenPath(), { audiences: [], expirationSeconds: LIFETIME / SECOND });
});
afterAll(async () => {
  await server.destroy();
  await rm(folder, { recursive: true, force: true });
});

describe('B13: when the clock of the server jumps', () => {
  // The leeway is 60 s in both directions. The edges to the millisecond are in src/tokens/dependencies.test.ts.
  it.each([
    ['back by less than the leeway', -(60 * SECOND - SPARE), 200],
    ['back by more than the leeway', -(60 * SECOND + SPARE), 401],
    ['back by an hour', -HOUR, 401],
    ['to within the leeway after the end', LIFETIME + 60 * SECOND - SPARE, 200],
    ['past the leeway after the end', LIFETIME + 60 * SECOND + SPARE, 401],
    ['ahead by an hour', HOUR, 401],
    ['to where it was', 0, 200],
  ])('%s: an issued token is verified with the current clock', async (_, ms, code) => {
    await moveClock(ms);
    expect(await codeFor(server, token)).toBe(code);
  });

  it('an hour ahead: new tokens have that time and are valid, because the machine may have slept', async () => {
    await moveClock(HOUR);
    const fresh = await issue(server);
    expect(Math.abs((decodeJwt(fresh).iat ?? 0) * 1000 - (Date.now() + HOUR))).toBeLessThan(SPARE);
    expect(await codeFor(server, fresh)).toBe(200);
    await moveClock(0);
    expect(await codeFor(server, await issue(server))).toBe(200);
  });

  it('an hour back: nothing is signed until the clock is right; everything else is served', async () => {
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true`);
    await watch.take((await server.call('GET', CLUSTERS)).json.items.length);
    await moveClock(-HOUR);
    for (const query of ['', '?dryRun=All']) {
      const refused = await server.call('POST', tokenPath() + query, { body: { spec: { audiences: [] } } });
      expect(refused.code, refused.text).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('5');
      expect(refused.json.message).toMatch(
        /^no tokens are issued at the moment: the clock of this server is \d+ seconds/,
      );
    }
    const rotation = await server.call('POST', KEYS, { body: ROTATE });
    expect(rotation.code, rotation.text).toBe(503);
    const { text } = await server.call('GET', '/metrics');
    expect(Number(/^clusterpass_clock_skew_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(3_500);
    expect(text).toMatch(/^clusterpass_clock_skew_exceeded 1$/m);
    await createCluster(server, 'meanwhile');
    expect((await watch.take(1)).map(brief)).toEqual(['ADDED meanwhile']);
    watch.close();
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
    await moveClock(0);
    expect(await codeFor(server, await issue(server))).toBe(200);
    await expect.poll(() => server.output.stderr).toContain('the clock of this server is right again');
  });

  it('B31: three days ahead for three seconds: a revoked token stays revoked, a retired key stays good', async () => {
    await server.call('POST', KEYS, { body: { ...ROTATE, spec: { force: true } } });
    const keys = async () => (await server.call('GET', KEYS)).json.items.length;
    const before = await keys();
    const revoked = await issue(server);
    await remove(server, `/apis/clusterpass.dev/v1alpha1/issuedtokens/${decodeJwt(revoked).jti}`);
    expect(await codeFor(server, revoked)).toBe(401);
    await moveClock(72 * HOUR);
    await delay(3 * SECOND);
    await moveClock(0);
    expect(await codeFor(server, revoked)).toBe(401);
    // The token of before the rotation.
    expect(await codeFor(server, token)).toBe(200);
    expect(await keys()).toBe(before);
  });
});
