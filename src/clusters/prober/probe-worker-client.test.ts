import { afterEach, describe, expect, it } from 'vitest';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import { openProbeWorker } from './probe-worker-client.ts';

/** A worker that answers by the name of the cluster. */
const SCRIPT = `
  import { serveStarter } from '${import.meta.resolve('../../lib/worker-rpc.ts')}';
  const probe = async ({ cluster }) => {
    if (cluster.name === 'silent') return new Promise(() => {});
    if (cluster.name === 'die') process.exit(1);
    if (cluster.name === 'broken') throw new Error('an error of ours');
    return { ready: true, version: cluster.name };
  };
  serveStarter(() => ({ probe }), {});`;

let worker: ReturnType<typeof openProbeWorker>;
let time = 0;
const open = (): void => {
  time = 0;
  worker = openProbeWorker({
    entry: new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`),
    settings: { clusterNetworks: [], credentialsDir: undefined, ownPort: 1, keepAliveConnections: 0 },
    now: () => time,
  });
};
afterEach(() => worker.close());

const cluster = (name: string): UpstreamCluster => ({
  name,
  uid: name,
  generation: 1,
  endpoints: {},
  controller: undefined,
  confirmed: false,
});
const never = new AbortController().signal;

describe('the probe worker', () => {
  it('gives each probe its own outcome', async () => {
    open();
    const outcomes = await Promise.all(['a', 'b', 'c'].map((name) => worker.probe(cluster(name), never)));
    expect(outcomes.map((outcome) => outcome.ready && outcome.version)).toEqual(['a', 'b', 'c']);
  });

  it('passes errors on', async () => {
    open();
    await expect(worker.probe(cluster('broken'), never)).rejects.toThrow('an error of ours');
  });

  it('rejects an aborted probe without waiting for the thread', async () => {
    open();
    const abort = new AbortController();
    const probe = worker.probe(cluster('silent'), abort.signal);
    abort.abort();
    await expect(probe).rejects.toThrow('aborted');
  });

  it('rejects the probes of a thread that exited, and starts another one after a pause', async () => {
    open();
    const waiting = worker.probe(cluster('silent'), never);
    await expect(Promise.all([waiting, worker.probe(cluster('die'), never)])).rejects.toThrow(
      'the probe thread exited',
    );
    await expect(waiting).rejects.toThrow('the probe thread exited');
    await expect(worker.probe(cluster('a'), never)).rejects.toThrow('it is started again soon');
    time = 10_000;
    expect(await worker.probe(cluster('a'), never)).toMatchObject({ version: 'a' });
  });
});
