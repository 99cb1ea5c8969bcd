import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { call, expectSuccess, requestText } from './client.ts';
import { clusterFleet, HOME, LIST, READER } from './cluster-fleet.ts';
import { memoryOf } from './cpu.ts';
import { Driver } from './driver.ts';
import { type Figure, percentile, type Settings } from './measure.ts';
import { CLUSTERS_PATH } from './objects.ts';
import { startFleetServer } from './processes.ts';
import { tickTimes } from './ticks.ts';

interface WatchFlood {
  readonly name: string;
  readonly watches: number;
  readonly reads: boolean;
  readonly query: (index: number) => string;
  readonly accept?: string;
  /** A caller without permissions. */
  readonly stranger?: true;
}

const CHANGES = 4;
const CHANGED_BYTES = 250 * 1024;
const STRANGER = { name: 'stranger', token: 'token-of-stranger-0123456789' };
const long = (index: number): string =>
  Array.from({ length: 64 }, (_, term) => `k${term}!=${String(index).padStart(63, 'v')}`).join();

/** FA-3 to FA-8: what one caller can hold with watches, and what a change then costs. */
const FLOODS: readonly WatchFlood[] = [
  { name: 'D2: one requirement 1,900 times', watches: 0, reads: true, query: () => 'env=dev,'.repeat(1_900) },
  { name: 'D3: long selectors, no permission', watches: 1_500, reads: false, query: long, stranger: true },
  { name: 'D3: long selectors', watches: 1_500, reads: false, query: long },
  { name: 'D4: other selectors, not read', watches: 1_500, reads: false, query: (index) => `x!=${index}` },
  {
    name: 'D5: tables',
    watches: 1_000,
    reads: true,
    query: () => '',
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  },
];

/** Each against a server with 3,000 clusters, one of which changes four times while health is asked for. */
export async function watchFloods({ seconds, rows, progress }: Settings): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const flood of FLOODS.filter(({ name }) => name.includes(rows))) {
    const ticks = await tickTimes();
    const fleet = clusterFleet({ clusters: 3_000, bindings: 100 });
    const callers = [...fleet.callers, STRANGER];
    const server = await startFleetServer({ ...fleet, callers }, { nodeArgs: ticks.nodeArgs });
    const { metadata } = await expectSuccess<{ metadata: { resourceVersion: string } }>(
      call(server, 'GET', `${LIST}?limit=1`),
    );
    const headers = flood.accept === undefined ? {} : { Accept: flood.accept };
    const caller = flood.stranger === true ? STRANGER : READER;
    const textOf = (index: number, watch: string): string => {
      const selector = encodeURIComponent(flood.query(index).replace(/,$/, ''));
      return requestText('GET', `${CLUSTERS_PATH}?labelSelector=${selector}&${watch}`, { ...caller, headers });
    };
    const open = async (watches: number): Promise<TLSSocket[]> => {
      const sockets: TLSSocket[] = [];
      for (let index = 0; index < watches; index++) {
        const to = { host: '127.0.0.1', port: server.port, rejectUnauthorized: false };
        const socket = connect(to).on('error', () => {});
        sockets.push(socket);
        socket.write(textOf(index, `watch=1&resourceVersion=${metadata.resourceVersion}`));
        if (flood.reads) socket.resume();
        if (index % 50 === 49) await sleep(100);
      }
      return sockets;
    };
    // For the compiler.
    for (const socket of await open(Math.min(100, flood.watches))) socket.destroy();
    const before = memoryOf(server.pid).now;
    ticks.takeLongest();
    const health = new Driver();
    await health.send({ do: 'connect', port: server.port, connections: 4 });
    const asked = health.work({
      connections: 4,
      rate: 20,
      seconds: 5 * seconds,
      requests: { same: requestText('GET', '/livez', READER) },
    });
    const sockets = await open(flood.watches);
    for (let change = 0; change < CHANGES; change++) {
      if (flood.watches === 0)
        await Promise.all(
          Array.from({ length: 30 }, () =>
            call(
              server,
              'GET',
              `${CLUSTERS_PATH}?limit=1&labelSelector=${encodeURIComponent(flood.query(0).slice(0, -1))}`,
            ),
          ),
        );
      const body = { metadata: { annotations: { note: String(change).repeat(CHANGED_BYTES) } } };
      await expectSuccess(
        call(server, 'PATCH', `${CLUSTERS_PATH}/${HOME}`, { body, type: 'application/merge-patch+json' }),
      );
      await sleep(200);
    }
    const { milliseconds } = await asked;
    const grown = memoryOf(server.pid).peak - before;
    figures.push(
      { name: `${flood.name}: p99 of /livez`, value: percentile(milliseconds, 0.99), unit: 'ms', limit: 250 },
      { name: `${flood.name}: longest tick`, value: ticks.takeLongest(), unit: 'ms of CPU', limit: 50 },
      { name: `${flood.name}: memory`, value: grown, unit: 'MB more', limit: 300 },
    );
    progress(
      `${flood.name}: ${figures
        .slice(-3)
        .map(({ value, unit }) => `${value.toFixed(1)} ${unit}`)
        .join(', ')}`,
    );
    for (const socket of sockets) socket.destroy();
    await health.end();
    await server.end();
  }
  return figures;
}
