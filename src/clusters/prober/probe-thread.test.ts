import { afterEach, describe, expect, it } from 'vitest';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import { openProbeThread, type ProbeThread } from './probe-thread.ts';

/** A thread that answers by the name of the cluster. */
const SCRIPT = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ type, looks = [] }) => {
    for (const { id, cluster } of looks) {
      if (cluster.name === 'silent') continue;
      if (cluster.name === 'die') process.exit(1);
      if (cluster.name === 'broken') parentPort.postMessage([{ id, problem: 'a mistake of ours' }]);
      else parentPort.postMessage([{ id, outcome: { ready: true, version: cluster.name } }]);
    }
  });`;

let thread: ProbeThread;
let time = 0;
const open = (): void => {
  time = 0;
  thread = openProbeThread({
    entry: new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`),
    settings: { allowedNetworks: [], credentialsDir: undefined, ownPort: 1, keptConnections: 0 },
    now: () => time,
  });
};
afterEach(() => thread.close());

const cluster = (name: string): UpstreamCluster => ({
  name,
  uid: name,
  generation: 1,
  endpoints: {},
  controller: undefined,
  confirmed: false,
});
const never = new AbortController().signal;

describe('the thread of the prober', () => {
  it('gives each look its own outcome', async () => {
    open();
    const outcomes = await Promise.all(['a', 'b', 'c'].map((name) => thread.probe(cluster(name), never)));
    expect(outcomes.map((outcome) => outcome.ready && outcome.version)).toEqual(['a', 'b', 'c']);
  });

  it('passes on what went wrong in it', async () => {
    open();
    await expect(thread.probe(cluster('broken'), never)).rejects.toThrow('a mistake of ours');
  });

  it('ends a look that is aborted without waiting for the thread', async () => {
    open();
    const abort = new AbortController();
    const look = thread.probe(cluster('silent'), abort.signal);
    abort.abort();
    await expect(look).rejects.toThrow('aborted');
  });

  it('fails the looks of a thread that died, and starts another one, but not over and over', async () => {
    open();
    const waiting = thread.probe(cluster('silent'), never);
    await expect(Promise.all([waiting, thread.probe(cluster('die'), never)])).rejects.toThrow('has ended');
    await expect(waiting).rejects.toThrow('has ended');
    await expect(thread.probe(cluster('a'), never)).rejects.toThrow('it is started again soon');
    time = 10_000;
    expect(await thread.probe(cluster('a'), never)).toMatchObject({ version: 'a' });
  });
});
