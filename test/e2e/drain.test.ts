import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Server, startServer } from './support/server.ts';
import { CLUSTERS, createCluster, createWorld, tokenPath } from './support/token-world.ts';
import { Watch } from './support/watch.ts';

const WATCHES = 200;
const CLIENTS = 20;
/** Between two requests of a client; with twenty of them, 500 a second where the machine is fast enough. */
const PAUSE_MS = 40;

let server: Server;
afterEach(() => server.destroy());

describe('B16: a stop under load', () => {
  it('loses no request and no acknowledged write, and ends every watch with a bookmark', async () => {
    server = await startServer({ args: ['--shutdown-delay', '1s'] });
    await createWorld(server);
    const watches = await Promise.all(
      Array.from({ length: WATCHES }, () => Watch.open(server, `${CLUSTERS}?watch=true&allowWatchBookmarks=true`)),
    );
    const endings = watches.map(async (watch) => (await watch.rest()).at(-1)?.type);

    // As a load balancer does it: requests come over kept connections for as long as the server says that it is ready.
    const agent = new Agent({ keepAlive: true });
    let ready = true;
    const answers: Record<string, number> = {};
    const acknowledged: string[] = [];
    const ask = (method: string, path: string, body?: object): Promise<number | string> =>
      new Promise((resolve) => {
        const headers = { Authorization: `Bearer ${server.adminToken}`, 'Content-Type': 'application/json' };
        const req = request(`${server.url}${path}`, { method, headers, agent }, (res) => {
          res.resume();
          res.once('end', () => resolve(res.statusCode ?? 0));
          res.once('error', (error) => resolve(error.message));
        });
        req.once('error', (error) => resolve(error.message));
        req.end(body === undefined ? undefined : JSON.stringify(body));
      });
    const client = async (index: number): Promise<void> => {
      for (let turn = 0; ready; turn += 1) {
        const name = `c-${index}-${turn}`;
        const writes = index === 0;
        const outcome = writes
          ? await ask('POST', CLUSTERS, {
              apiVersion: 'clusterregistry.k8s.io/v1alpha1',
              kind: 'Cluster',
              metadata: { name },
            })
          : await ask('POST', tokenPath(), { spec: { audiences: [] } });
        answers[outcome] = (answers[outcome] ?? 0) + 1;
        if (writes && outcome === 201) acknowledged.push(name);
        await delay(PAUSE_MS);
      }
    };
    const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
    await expect.poll(() => answers[201] ?? 0).toBeGreaterThan(CLIENTS);
    const asked = Date.now();
    const stopped = server.stop();
    let code = await ask('GET', '/readyz');
    while (code === 200) code = await ask('GET', '/readyz');
    expect(code).toBe(503);
    ready = false;
    await Promise.all(clients);
    expect(Object.keys(answers)).toEqual(['201']);
    expect(new Set(await Promise.all(endings))).toEqual(new Set(['BOOKMARK']));
    expect(await stopped).toBe(0);
    expect(Date.now() - asked).toBeLessThan(30_000);
    agent.destroy();

    server = await server.restart();
    const { json } = await server.call('GET', CLUSTERS);
    const names = json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(names).toEqual(expect.arrayContaining(acknowledged));
    await createCluster(server, 'afterwards');
  });
});
