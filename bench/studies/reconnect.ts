/**
 * A server restarts, and all of its watches come back at once. Exits with 1 when a watch had to list again, when a
 * rejection was not a 429 with Retry-After, when it took more than a minute, or when tokens were slow meanwhile.
 *
 *   npm run bench -- reconnect [watches]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { call, expectSuccess } from '../support/client.ts';
import { clusterFleet, READER } from '../support/cluster-fleet.ts';
import { lowerPriority, memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Done } from '../support/driver-process.ts';
import { percentile } from '../support/numbers.ts';
import { endAll, type FleetServer, startFleetServer, startServerOn } from '../support/processes.ts';
import { oneAccountRequest } from '../support/tokens.ts';
import type { WatchJob, WatchOutcome } from '../support/watch-client.ts';

const [count = '20000'] = process.argv.slice(2);
const WATCHES = Number(count);
const CLUSTERS = 10_000;
/** Node processes with watches: one of them would need a gigabyte for 20,000 TLS connections. */
const CLIENTS = 2;
const TOKENS_PER_SECOND = 20;
const LIMIT_SECONDS = 60;
const LIMIT_TOKEN_MS = 250;

const startClient = (): ChildProcess => {
  const child = fork(fileURLToPath(new URL('../support/watch-client.ts', import.meta.url)), { stdio: 'inherit' });
  // Watching clients run on other machines.
  lowerPriority(child.pid ?? 0);
  return child;
};

interface Storm {
  readonly outcomes: readonly WatchOutcome[];
  readonly tokens: readonly number[];
  readonly cpuSeconds: number;
}

/** Opens all watches at once, and requests tokens until they are open. */
async function storm(server: FleetServer, resourceVersion: string, isMeasured: boolean): Promise<Storm> {
  const clients = Array.from({ length: CLIENTS }, startClient);
  const driver = new Driver();
  const connections = 4;
  const { request } = await oneAccountRequest(server);
  await driver.send({ do: 'connect', port: server.port, connections });
  const before = server.cpu();
  let isOver = false;
  const outcomes = Promise.all(
    clients.map(async (client, index) => {
      const watches = Math.ceil((WATCHES - index) / CLIENTS);
      const job: WatchJob = { port: server.port, watches, token: READER.token, resourceVersion };
      client.send(job);
      const [outcome] = (await once(client, 'message')) as [WatchOutcome];
      return outcome;
    }),
  ).finally(() => {
    isOver = true;
  });
  const tokens: number[] = [];
  while (isMeasured && !isOver) {
    const work = { requests: { same: request }, connections, total: TOKENS_PER_SECOND, rate: TOKENS_PER_SECOND };
    tokens.push(...((await driver.send({ do: 'work', ...work })) as Done).milliseconds);
  }
  const done = await outcomes;
  const cpuSeconds = (server.cpu() - before) / 1e6;
  if (!isMeasured) for (const client of clients) client.disconnect();
  await driver.send({ do: 'close' });
  return { outcomes: done, tokens, cpuSeconds };
}

const versionOf = async (server: FleetServer): Promise<string> =>
  (
    await expectSuccess<{ metadata: { resourceVersion: string } }>(
      call(server, 'GET', '/auth/v1/clusters?limit=1', READER),
    )
  ).metadata.resourceVersion;

try {
  const fleet = clusterFleet({ clusters: CLUSTERS, bindings: 1_000 });
  const first = await startFleetServer(fleet);
  const version = await versionOf(first);
  const opened = await storm(first, version, false);
  await first.end();
  console.log(`first start   ${WATCHES} watches, ${opened.cpuSeconds.toFixed(1)} s of CPU`);
  const second = await startServerOn(first.dataDir, fleet.callers);
  const beforeMB = memoryOf(second.pid).now;
  const { outcomes, tokens, cpuSeconds } = await storm(second, version, true);
  const sum = (of: (outcome: WatchOutcome) => number): number => outcomes.reduce((all, each) => all + of(each), 0);
  const codes: Record<string, number> = {};
  for (const outcome of outcomes) {
    for (const [code, times] of Object.entries(outcome.codes)) codes[code] = (codes[code] ?? 0) + times;
  }
  const seconds = Math.max(...outcomes.map((outcome) => outcome.seconds));
  const kilobytes = ((memoryOf(second.pid).now - beforeMB) * 1024) / WATCHES;
  const p99 = percentile(tokens, 0.99);
  console.log(`resumed       ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU`);
  console.log(`status        ${JSON.stringify(codes)}, without Retry-After ${sum((each) => each.withoutRetryAfter)}`);
  console.log(`connections   ${sum((each) => each.failed)} failed before a response and were opened again`);
  console.log(`listed again  ${sum((each) => each.expired)}`);
  console.log(
    `tokens        p99 ${p99.toFixed(0)} ms, longest ${Math.max(...tokens).toFixed(0)} ms of ${tokens.length}`,
  );
  console.log(`memory        ${kilobytes.toFixed(0)} KB for each watch, the floor included`);
  const holds =
    sum((each) => each.withoutRetryAfter) === 0 &&
    sum((each) => each.expired) === 0 &&
    Object.keys(codes).every((code) => code === '200' || code === '429') &&
    seconds <= LIMIT_SECONDS &&
    p99 <= LIMIT_TOKEN_MS;
  const goal = `none lists again, only 429 with Retry-After, ${LIMIT_SECONDS} s, tokens p99 ${LIMIT_TOKEN_MS} ms`;
  console.log(`goal          ${goal}: ${holds ? 'holds' : 'MISSED'}`);
  process.exitCode = holds ? 0 : 1;
} finally {
  await endAll();
  process.exit();
}
