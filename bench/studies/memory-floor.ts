/**
 * What memory does a bare Node server take for the mix of `memory`, when it holds the same clusters and accounts and
 * has the duties of Clusterpass for tokens and lists (`../support/duties/`)? It has no database, no full objects and no
 * watches. Resident memory of both after the same minute, one after the other.
 *
 *   npm run bench -- memory-floor [rounds]
 */
import { join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { call, expectEqual, expectSuccess } from '../support/client.ts';
import { memoryOf } from '../support/cpu.ts';
import { LIST_DUTIES, writeFleetFile } from '../support/duties/list-floor.ts';
import { TOKEN_DUTIES } from '../support/duties/token-floor.ts';
import type { MixFloorSettings } from '../support/floor-process.ts';
import { LIST } from '../support/lists.ts';
import { clusterName } from '../support/objects.ts';
import { endAll, makeFolder, startFloor } from '../support/processes.ts';
import { table } from '../support/report.ts';
import { tokenFleet } from '../support/token-fleet.ts';
import { startTokenMix, type TokenMix } from '../support/token-mix.ts';
import { runWholeMix, WHOLE_MIX_FLEET } from '../support/whole-mix.ts';

const [rounds = '3'] = process.argv.slice(2);
/** As the launcher of Clusterpass starts Node. */
const ENV = { ...process.env, NODE_OPTIONS: '--max-semi-space-size=8' };

const keysOf = <D extends string>(duties: Readonly<Record<D, string>>): D[] => Object.keys(duties) as D[];

async function startMixFloor({ server }: TokenMix) {
  const jwksPath = `/orchestrator/${clusterName(0)}/openid/v1/jwks`;
  const { keys } = await expectSuccess<JSONWebKeySet>(call(server, 'GET', jwksPath));
  const folder = await makeFolder();
  const fleetFile = join(folder, 'fleet.lines');
  const list = await call(server, 'GET', LIST);
  await writeFleetFile(fleetFile, list.body);
  const admin = { name: 'admin', token: server.adminToken };
  const settings: MixFloorSettings = {
    tokens: {
      duties: keysOf(TOKEN_DUTIES),
      fleet: WHOLE_MIX_FLEET,
      url: server.url,
      keys,
      auditFile: join(folder, 'tokens.log'),
    },
    lists: {
      duties: keysOf(LIST_DUTIES),
      callers: [...tokenFleet(WHOLE_MIX_FLEET).callers, admin],
      fleetFile,
      auditFile: join(folder, 'lists.log'),
    },
  };
  const floor = await startFloor('mix-duties', Buffer.from(JSON.stringify(settings)), ENV);
  const target = { ...server, port: floor.port };
  const all = await call(target, 'GET', LIST);
  expectEqual('the list of the floor', all.body.equals(list.body), true);
  return { floor, target };
}

async function measure(): Promise<string[]> {
  const mix = await startTokenMix(WHOLE_MIX_FLEET);
  await runWholeMix(mix.server, mix.requests, mix.server.adminToken);
  const clusterpass = memoryOf(mix.server.pid);
  const { floor, target } = await startMixFloor(mix);
  await mix.verifySample(target);
  await mix.server.end();
  const atStart = memoryOf(floor.pid).now;
  await runWholeMix(floor, mix.requests, mix.server.adminToken);
  const { now, peak } = memoryOf(floor.pid);
  await floor.end();
  return [clusterpass.now, clusterpass.peak, atStart, now, peak].map((megabytes) => megabytes.toFixed(0));
}

try {
  const rows = [];
  for (let round = 0; round < Number(rounds); round++) rows.push(await measure());
  const head = ['Clusterpass after the mix, MB', 'peak', 'floor with its fleet', 'after the mix', 'peak'];
  console.log(table([head, ...rows]));
} finally {
  await endAll();
}
