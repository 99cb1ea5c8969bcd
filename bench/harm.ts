import { call, must, requestText } from './support/client.ts';
import type { Settings } from './support/compare.ts';
import { yieldToOthers } from './support/cpu.ts';
import type { Done } from './support/driver-process.ts';
import { clusterName, READER } from './support/fleet.ts';
import { at, median } from './support/numbers.ts';
import { type Desk, Driver, startDesk } from './support/processes.ts';
import type { Figure, Report } from './support/report.ts';
import { Turns } from './support/turns.ts';
import { callerToken, tokenRequest } from './token.ts';

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const LISTED = 100_000;
const WATCHERS = 2_000;
const CHANGES = 100;
/** One pause of the machine is not to decide what a percentile of a thousand requests is. */
const ROUNDS = 3;

/** A body of 3 MB that is read whole and then refused. */
const LARGE = { metadata: { name: 'large', annotations: { text: 'x'.repeat(3_000_000) } } };

/** Token requests, one after the other on a few connections, while something goes on: their 99th percentile. */
async function during(
  { desk, driver, turns, request }: { desk: Desk; driver: Driver; turns: Turns; request: string },
  work: () => Promise<void>,
): Promise<[number, number]> {
  // Handshakes are not what is asked about.
  await driver.order({ do: 'connect', port: desk.port, connections: 4 });
  turns.takeLongest();
  const busy = work();
  const { milliseconds } = (await driver.order({
    do: 'work',
    request: [request],
    connections: 4,
    total: 1_000,
  })) as Done;
  await busy;
  const loop = turns.takeLongest();
  await driver.order({ do: 'close' });
  return [at(milliseconds, 0.99), loop];
}

/** While one client asks for much, is anybody else kept waiting? */
export async function benchHarm(_: Settings): Promise<Report> {
  const turns = await Turns.prepare();
  const desk = await startDesk({ clusters: LISTED, bindings: 1_000 }, turns.nodeArgs);
  const [asking, other, writer] = [new Driver(), new Driver(), new Driver()];
  // Whoever does harm does so from other machines: here they only get what processors the others leave.
  for (const { pid } of [other, writer]) yieldToOthers(pid);
  const request = tokenRequest(await callerToken(desk));
  const figures: Figure[] = [];
  const nothing = async (): Promise<void> => {};
  /** The median of what the percentile was, and the longest turn of them all. */
  const often = async (work: () => Promise<void>): Promise<[number, number]> => {
    const rounds: [number, number][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push(await during({ desk, driver: asking, turns, request }, work));
    }
    return [median(rounds.map(([p99]) => p99)), Math.max(...rounds.map(([, loop]) => loop))];
  };
  await often(nothing);
  const [quiet, quietLoop] = await often(nothing);
  figures.push({ name: 'p99 of a token, quiet', value: quiet, unit: 'ms' });
  figures.push({ name: 'the loop, quiet', value: quietLoop, unit: 'ms', limit: 50 });
  const measure = async (name: string, work: () => Promise<void>): Promise<void> => {
    const [p99, loop] = await often(work);
    figures.push({ name: `p99 of a token, ${name}, times quiet`, value: p99 / quiet, unit: '', limit: 5 });
    figures.push({ name: `the loop, ${name}`, value: loop, unit: 'ms', limit: 50 });
  };
  await measure(`a list of ${LISTED} to a slow reader`, async () => {
    await other.order({ do: 'connect', port: desk.port, connections: 1 });
    const list = requestText('GET', '/auth/v1/clusters', READER);
    await other.order({ do: 'trickle', request: list, bytes: 1_000_000, everyMs: 20 });
    await other.order({ do: 'close' });
  });
  await measure('bodies of 3 MB', async () => {
    await other.order({ do: 'connect', port: desk.port, connections: 1 });
    const post = requestText('POST', `${CLUSTERS}?dryRun=All`, { token: desk.adminToken, body: LARGE });
    // Refused, as it should be: the driver says so, and that is all that is wanted of it.
    await other.order({ do: 'work', request: [post], connections: 1, total: 4 }).catch(() => undefined);
    await other.order({ do: 'close' });
  });
  const { metadata } = await must<{ metadata: { resourceVersion: string } }>(
    call(desk, 'GET', '/auth/v1/clusters?limit=1', READER),
  );
  const path = `/auth/v1/clusters?watch=1&resourceVersion=${metadata.resourceVersion}`;
  await other.order({ do: 'watch', port: desk.port, connections: WATCHERS, request: requestText('GET', path, READER) });
  await writer.order({ do: 'connect', port: desk.port, connections: 50 });
  const burst = async (note: string): Promise<void> => {
    const body = { metadata: { annotations: { note } } };
    const type = 'application/merge-patch+json';
    const patch = requestText('PATCH', `${CLUSTERS}/${clusterName(1)}`, { token: desk.adminToken, body, type });
    const [before = '', after = ''] = patch.split(clusterName(1).slice(2));
    await writer.order({ do: 'work', request: [before, after], connections: 50, total: CHANGES });
  };
  // As the token requests were, changes are measured when they have been made before: nothing of it is compiled yet.
  const heardBurst = async (note: string): Promise<void> => {
    const heard = other.order({ do: 'frames', total: CHANGES * WATCHERS });
    await burst(note);
    await heard;
  };
  for (const note of ['first', 'second']) await heardBurst(note);
  let count = 0;
  await measure(`a burst to ${WATCHERS} watchers`, () => heardBurst(`burst ${++count}`));
  return { figures };
}
