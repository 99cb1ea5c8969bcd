import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectorOf } from './support/connector.ts';
import { codeFor, createCluster, createObjects, issue, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer } from './support/server.ts';
import { brief, Watch } from './support/watch.ts';

const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const ROTATE = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' };
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let server: Server;
let folder: string;

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
});
afterAll(() => server.destroy());

describe('B13, A57: when the clock of the server jumps', () => {
  it('an hour back: nothing is signed until the clock is right; everything else is served', async () => {
    // The token that its connector would create depends on this clock, too.
    await (await connectorOf(server, 'ordered')).report();
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true`);
    await watch.take((await server.call('GET', CLUSTERS)).json.items.length);
    await moveClock(-HOUR);
    for (const path of [tokenPath(), `${tokenPath()}?dryRun=All`, tokenPath('builder', 'ci', 'ordered')]) {
      const refused = await server.call('POST', path, { body: { spec: { audiences: [] } } });
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
});
