import { decodeJwt } from 'jose';
import { TLS } from '../../test/e2e/support/server.ts';
import { call, expectEqual, expectSuccess, requestText } from '../support/client.ts';
import { Driver, requestFile } from '../support/driver.ts';
import type { Fleet } from '../support/fleet.ts';
import { alternate, cpuOfRound, type Figure, medians, ratios, type Settings, spread } from '../support/measure.ts';
import { bindingObject, clusterName, tokenPath } from '../support/objects.ts';
import { builtProgram, costOf, type FleetServer, startFleetServer } from '../support/processes.ts';
import { tickTimes } from '../support/ticks.ts';
import { tokenFleet } from '../support/token-fleet.ts';

const PASSES = 500;
/** The goals: share of the CPU time of single requests; CPU time of the longest tick; duration of `exec`. */
const SHARE = 0.35;
const TICK_MS = 30;
const EXEC_SECONDS = 3;
/** Rounds before the measurement: V8 still optimizes after 60,000 tokens. */
const WARM_UP_LISTS = 120;

const PIPELINE = { name: 'pipeline', token: 'token-of-pipeline-0123456789' };
const ACCOUNT = { namespace: 'ci', serviceAccount: 'account-0' };

/** The fleet of the token benchmark, and one caller who may get tokens in all of its clusters. */
function pipelineFleet(): Fleet {
  const fleet = tokenFleet({ clusters: 1_000, accounts: 10_000, bindings: 1_000 });
  return {
    callers: [...fleet.callers, PIPELINE],
    *objects() {
      yield* fleet.objects();
      for (const role of ['issuer', 'viewer'] as const) {
        yield bindingObject(`pipeline-${role}`, role, [PIPELINE.name]);
      }
    },
  };
}

const ITEMS = Array.from({ length: PASSES }, (_, index) => ({ cluster: clusterName(index), ...ACCOUNT }));

/** Selects the clusters of ITEMS: a region has 50. */
const SELECTOR = `region in (${Array.from({ length: PASSES / 50 }, (_, index) => `r-${index}`).join(',')})`;

interface PassList {
  readonly items: readonly { readonly cluster: string; readonly token?: string }[];
}

/** Every item has a token of its account and cluster. */
async function checkList(server: FleetServer): Promise<void> {
  const sent = { token: PIPELINE.token, body: { items: ITEMS } };
  const { items } = await expectSuccess<PassList>(call(server, 'POST', '/auth/v1/passes', sent));
  expectEqual('passes', items.length, PASSES);
  for (const { cluster, token = '' } of items) {
    const { iss, sub } = decodeJwt(token);
    expectEqual('issuer', iss, `${server.url}/orchestrator/${cluster}`);
    expectEqual('subject', sub, `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.serviceAccount}`);
  }
}

/** 500 passes in one request, beside as many requests of one caller for one pass each. */
export async function run(settings: Settings): Promise<Figure[]> {
  const ticks = await tickTimes();
  const server = await startFleetServer(pipelineFleet(), { nodeArgs: ticks.nodeArgs });
  await checkList(server);
  const driver = new Driver();
  const { token } = PIPELINE;
  const texts = ITEMS.map(({ cluster, namespace, serviceAccount }) =>
    requestText('POST', tokenPath(cluster, namespace, serviceAccount), { token, body: { spec: { audiences: [] } } }),
  );
  const list = requestText('POST', '/auth/v1/passes', { token, body: { items: ITEMS } });
  const lists = { requests: { same: list }, connections: 1 };
  const singles = { requests: await requestFile(texts), connections: 16 };
  await driver.run(server, { ...singles, total: WARM_UP_LISTS * PASSES });
  const warm = await driver.run(server, { ...lists, total: WARM_UP_LISTS });
  const count = Math.max(4, Math.round(warm.rate * settings.seconds));
  let longest = 0;
  const rounds = await alternate(
    settings,
    async () => {
      ticks.takeLongest();
      const { rate, cpuPerUnit } = await driver.run(server, { ...lists, total: count });
      longest = Math.max(longest, ticks.takeLongest());
      return { rate: rate * PASSES, cpuPerUnit: cpuPerUnit / PASSES };
    },
    () => driver.run(server, { ...singles, total: count * PASSES }),
  );
  return [
    {
      name: 'a pass of a list of 500, as a share of a request for one',
      ...spread(ratios(rounds, cpuOfRound)),
      unit: 'by CPU',
      limit: SHARE,
      note: `${medians(rounds, cpuOfRound)} us`,
    },
    { name: 'longest tick during lists of 500', value: longest, unit: 'ms of CPU', limit: TICK_MS },
    {
      name: 'clusterpass exec: until the credentials of 500 clusters are there',
      ...spread(await execSeconds(server, settings.rounds)),
      unit: 's',
      limit: EXEC_SECONDS,
    },
  ];
}

/** From the start of a cold process until its first command runs: that is after all credentials have arrived. */
async function execSeconds(server: FleetServer, rounds: number): Promise<number[]> {
  const account = `${ACCOUNT.namespace}/${ACCOUNT.serviceAccount}`;
  const args = ['exec', '-l', SELECTOR, '--as', account, '--parallel', '4', '--', 'date', '+%s%3N'];
  const sent = { CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: PIPELINE.token, CLUSTERPASS_CA: TLS.caFile };
  const values: number[] = [];
  // The first fills the compile cache.
  for (let round = 0; round <= rounds; round++) {
    const begun = Date.now();
    const { output } = await costOf([await builtProgram(), ...args], { env: { ...process.env, ...sent } });
    const times = [...output.matchAll(/: (\d+)$/gm)].map(([, time]) => Number(time));
    expectEqual('commands', times.length, PASSES);
    if (round > 0) values.push((Math.min(...times) - begun) / 1000);
  }
  return values;
}
