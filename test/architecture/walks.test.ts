import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from '../e2e/support/server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_STEPS = 25;

/** The numbered steps below this heading of docs/architecture.md, and the files that they name, in order. */
async function walk(heading: string): Promise<{ steps: string[]; files: string[] }> {
  const page = await readFile(join(ROOT, 'docs/architecture.md'), 'utf8');
  const section = page.split(`\n### ${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
  const steps = section.match(/^\d+\. .*(?:\n {3,}.*)*/gm) ?? [];
  const files = steps.flatMap((step) => [...step.matchAll(/`(src\/[\w./-]+\.ts)`/g)].map(([, file = '']) => file));
  return { steps, files };
}

let folder: string;
let server: Server;
let calledByStart: Set<string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-walk-'));
  server = await startServer({
    sources: true,
    tls: true,
    args: ['--demo=true'],
    users: { jane: ['platform-admins'] },
    env: {
      NODE_OPTIONS: `--import=${new URL('coverage-hook.mjs', import.meta.url).href}`,
      COVERAGE_SOCKET: join(folder, 'coverage.sock'),
    },
  });
  calledByStart = await called();
});

afterAll(() => server?.destroy());

/** The files of which a function was called since the last call of this. */
async function called(): Promise<Set<string>> {
  const socket = createConnection(join(folder, 'coverage.sock'));
  await once(socket, 'connect');
  const urls = JSON.parse(await text(socket)) as string[];
  return new Set(urls.map((url) => relative(ROOT, fileURLToPath(url))));
}

const token = { token: 'token-of-jane-0123456789' };

/** Real requests, by the heading of the walk that describes them. */
const REQUESTS: Readonly<Record<string, () => Promise<void>>> = {
  'A token request': async () => {
    const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
    const answer = await server.call('POST', path, { ...token, body: { spec: { audiences: ['vault'] } } });
    expect(answer.code).toBe(201);
  },
  'A list, then a watch': async () => {
    const list = await server.call('GET', '/auth/v1/clusters?labelSelector=env%3Dprod&limit=2', token);
    expect(list.json.items).toHaveLength(2);
    const since = list.json.metadata.resourceVersion;
    const watch = server.call('GET', `/auth/v1/clusters?watch=true&timeoutSeconds=2&resourceVersion=${since}`, token);
    const labels = { metadata: { labels: { walked: 'yes' } } };
    const patched = await server.call('PATCH', '/apis/clusterregistry.k8s.io/v1alpha1/clusters/prod-eu-1', {
      body: labels,
    });
    expect(patched.code).toBe(200);
    expect((await watch).text).toContain('"type":"MODIFIED"');
  },
};

it('a server that sends no requests does not load undici, which takes a twentieth of a start', () => {
  expect(calledByStart).toContain('src/server/compose.ts');
  expect([...calledByStart].filter((file) => file.startsWith('node_modules/undici/'))).toEqual([]);
});

describe.each(Object.keys(REQUESTS))('docs/architecture.md: %s', (heading) => {
  it(`has at most ${MAX_STEPS} steps, and names files that the request calls`, async () => {
    const { steps, files } = await walk(heading);
    expect(steps.length).toBeGreaterThan(5);
    expect(steps.length).toBeLessThanOrEqual(MAX_STEPS);
    await called();
    await REQUESTS[heading]?.();
    const found = await called();
    expect(files.filter((file) => !found.has(file))).toEqual([]);
  });
});
