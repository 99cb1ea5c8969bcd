/**
 * What does a bare Node server take for a token, a list and a create, when it takes on the duties that Clusterpass may
 * not skip, one after the other? Each row has the duties of the rows above, in the least code that does them
 * (`../support/duties/`), and is a separate process. The last row is Clusterpass. CPU time of all threads for one
 * request, and the share of the plain floor, which is the floor of the goals `token`, `list` and `write`.
 *
 * What Clusterpass does besides is in no row: flow control, impersonation, content negotiation, traces, recent events,
 * liveness of the caller's account, rotation of keys and of audit files, watchers, error messages of Kubernetes.
 *
 * Before the measurement, tokens and lists of each row are verified, and requests that a duty refuses are sent.
 * Afterwards audit events, counted requests and stored objects must be as many as the requests.
 *
 * A round is a number of requests, not of seconds, so that other load on the machine does not make it shorter.
 *
 *   npm run bench -- duties [tokens|lists|creates|all] [rounds] [requests of a row in a round] [warm-up requests]
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { JSONWebKeySet } from 'jose';
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { type CallTarget, call, expectEqual, expectSuccess, requestText } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { spreadOf } from '../support/compare.ts';
import { Driver } from '../support/driver.ts';
import type { Requests } from '../support/driver-process.ts';
import { CREATE_DUTIES, type CreateFloorSettings } from '../support/duties/create-floor.ts';
import { LIST_DUTIES, type ListFloorSettings, writeFleetFile } from '../support/duties/list-floor.ts';
import { TOKEN_DUTIES, type TokenFloorSettings } from '../support/duties/token-floor.ts';
import { checkedList, listWorks } from '../support/lists.ts';
import { numberedCreate } from '../support/numbered-create.ts';
import { median, percentile, threeDigits } from '../support/numbers.ts';
import { CLUSTERS_PATH, clusterBody, clusterName } from '../support/objects.ts';
import { endAll, makeFolder, type ServerProcess, startFleetServer, startFloor } from '../support/processes.ts';
import { share, table } from '../support/report.ts';
import { startTokenMix, type TokenMix } from '../support/token-mix.ts';

const [work = 'all', ...numbers] = process.argv.slice(2);
const [ROUNDS = 15, REQUESTS = 4_000, WARM_UP] = numbers.map(Number);
const CONNECTIONS = 16;
/** As in the goals `token`, `list` and `write`. */
const TOKEN_WARM_UP = WARM_UP ?? 120_000;
const CREATE_WARM_UP = WARM_UP ?? 60_000;
const LIST_WARM_UP = WARM_UP ?? 40_000;
const LISTED_CLUSTERS = 10_000;
const FLEET = { clusters: 1_000, accounts: 10_000, bindings: 1_000 };

const driver = new Driver();

/** A row of the study. */
interface Side {
  readonly name: string;
  run(total: number): Promise<number>;
}

/** CPU time of the server for one request, in microseconds. */
async function drive(
  server: ServerProcess,
  requests: Requests,
  total: number,
  connections = CONNECTIONS,
): Promise<number> {
  return (await driver.run(server, { requests, connections, total })).cpuPerUnit;
}

/** Measures the sides one after the other, each round from another one on, and prints them. The last is Clusterpass. */
async function measure(title: string, sides: readonly Side[], warmUp: number): Promise<void> {
  for (const side of sides) {
    await side.run(warmUp);
    console.error(`  ${side.name}: warm`);
  }
  const results = sides.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (let offset = 0; offset < sides.length; offset++) {
      const at = (round + offset) % sides.length;
      const cpu = await (sides[at] as Side).run(REQUESTS);
      results[at]?.push(cpu);
      console.error(`  round ${round + 1}, ${sides[at]?.name}: ${threeDigits(cpu)} us`);
    }
  }
  const [plain = [], last = [], allDuties = []] = [results[0], results.at(-1), results.at(-2)];
  const rows = results.map((cpu, at) => [
    sides[at]?.name ?? '',
    `${threeDigits(median(cpu))} us`,
    `${threeDigits(lowest(cpu))} us`,
    at === 0 ? '' : `${threeDigits(lowest(cpu) - lowest(results[at - 1] ?? []))} us`,
    sharesOf(cpu, plain),
    threeDigits(lowest(plain) / lowest(cpu)),
  ]);
  console.log(`\n${title}: ${ROUNDS} rounds of ${REQUESTS} requests`);
  console.log(table([['row', 'CPU each', 'lowest', 'added', 'share of the plain floor', 'by the lowest'], ...rows]));
  const byLowest = threeDigits(lowest(allDuties) / lowest(last));
  console.log(
    `Clusterpass beside a floor with the same duties: ${sharesOf(last, allDuties)}, by the lowest ${byLowest}`,
  );
}

/** The lowest tenth of the rounds, which other work on the machine disturbs least. */
const lowest = (cpu: readonly number[]): number => percentile(cpu, 0.1);

/** Round by round. */
const sharesOf = (cpu: readonly number[], floor: readonly number[]): string =>
  share(spreadOf(cpu.map((each, round) => (floor[round] ?? Number.NaN) / each)));

/** The first duty; the first two; and so on. */
function steps<D extends string>(duties: Readonly<Record<D, string>>): { duties: D[]; name: string }[] {
  const names = Object.keys(duties) as D[];
  return names.map((newest, at) => ({ duties: names.slice(0, at + 1), name: `+ ${duties[newest]}` }));
}

async function expectLines(file: string, count: number): Promise<void> {
  let lines = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  expectEqual('audit events', lines, count);
}

async function expectCounted(target: CallTarget, count: number, code = '201'): Promise<void> {
  const { byCode } = await expectSuccess<{ byCode: Record<string, number> }>(call(target, 'GET', '/metrics'));
  expectEqual('counted requests', byCode[code], count);
}

async function expectStatus(sent: ReturnType<typeof call>, code: number, what: string): Promise<void> {
  const response = await sent;
  expectEqual(`status for ${what}`, response.code, code);
}

/** A request of the mix whose caller has an issued token. */
async function issuedRequest(mix: TokenMix): Promise<{ text: string; path: string; credential: string }> {
  const texts = JSON.parse(await readFile(mix.requests.file, 'utf8')) as string[];
  const text = texts.find((one) => one.includes('Bearer ey')) ?? '';
  const [, path = ''] = /^POST (\S+)/.exec(text) ?? [];
  const [, credential = ''] = /Bearer (\S+)/.exec(text) ?? [];
  return { text, path, credential };
}

/** A token floor with these duties, after its tokens and refusals were checked. */
async function tokenSide(mix: TokenMix, duties: TokenFloorSettings['duties'], name: string) {
  const issuer = `/orchestrator/${clusterName(0)}`;
  const { keys } = await expectSuccess<JSONWebKeySet>(call(mix.server, 'GET', `${issuer}/openid/v1/jwks`));
  const auditFile = join(await makeFolder(), 'audit.log');
  const settings: TokenFloorSettings = { duties, fleet: FLEET, url: mix.server.url, keys, auditFile };
  const server = await startFloor('token-duties', Buffer.from(JSON.stringify(settings)));
  const target = { ...mix.server, port: server.port };
  let issued = (await mix.verifySample(target)).length;
  const { path, credential } = await issuedRequest(mix);
  const post = (token: string, spec: object): ReturnType<typeof call> =>
    call(target, 'POST', path, { token, body: { spec } });
  const spec = { audiences: ['https://vault.example'], expirationSeconds: 600 };
  if (duties.includes('authentication')) {
    await expectStatus(post('none', spec), 401, 'an unknown token');
    await expectStatus(post(`${credential.slice(0, -8)}AAAAAAAA`, spec), 401, 'a forged token');
  }
  if (duties.includes('body')) {
    await expectStatus(post(credential, { ...spec, unknown: 1 }), 400, 'an unknown field');
    await expectStatus(post(credential, { ...spec, expirationSeconds: 1 }), 422, 'a lifetime of a second');
  }
  if (duties.includes('permission')) await mix.expectRefusals(target);
  return {
    name,
    server,
    async run(total: number): Promise<number> {
      issued += total;
      return drive(server, mix.requests, total);
    },
    async check(): Promise<void> {
      if (duties.includes('audit')) await expectLines(auditFile, issued);
      if (duties.includes('metrics')) await expectCounted(target, issued);
    },
  };
}

async function tokens(): Promise<void> {
  const mix = await startTokenMix(FLEET, (line) => console.error(`  ${line}`));
  const [sample] = await mix.verifySample(mix.server);
  const plain = await startFloor('token', Buffer.from(JSON.stringify(sample)));
  const floors = [];
  for (const { duties, name } of steps(TOKEN_DUTIES)) floors.push(await tokenSide(mix, duties, name));
  const side = (name: string, server: ServerProcess, requests: Requests): Side => ({
    name,
    run: (total) => drive(server, requests, total),
  });
  const sides = [side('plain floor', plain, mix.requests), ...floors, side('Clusterpass', mix.server, mix.requests)];
  await measure('tokens, fleet mix', sides, TOKEN_WARM_UP);
  for (const floor of floors) await floor.check();
  const same = (await issuedRequest(mix)).text;
  const all = floors.at(-1)?.server ?? plain;
  await measure(
    'tokens, one account',
    [
      side('plain floor', plain, { same }),
      side('floor with all duties', all, { same }),
      side('Clusterpass', mix.server, { same }),
    ],
    Math.ceil(TOKEN_WARM_UP / 8),
  );
}

async function lists(): Promise<void> {
  const fleet = clusterFleet({ clusters: LISTED_CLUSTERS, bindings: 1_000 });
  const server = await startFleetServer(fleet);
  const { all, selector } = listWorks(LISTED_CLUSTERS);
  const expected = await checkedList(server, selector);
  const fleetFile = join(await makeFolder(), 'fleet.json');
  await writeFleetFile(fleetFile, await checkedList(server, all));
  const { path, token, connections } = selector;
  const requests = { same: requestText('GET', path, { token }) };
  const sideOf = (name: string, listed: ServerProcess) => ({
    name,
    run: (total: number) => drive(listed, requests, total, connections),
  });
  const floors = [];
  for (const { duties, name } of steps(LIST_DUTIES)) {
    const auditFile = join(await makeFolder(), 'audit.log');
    const settings: ListFloorSettings = { duties, callers: fleet.callers, fleetFile, auditFile };
    const floor = await startFloor('list-duties', Buffer.from(JSON.stringify(settings)));
    const target = { ...server, port: floor.port };
    const response = await call(target, 'GET', path, { token });
    expectEqual('the list', response.body.equals(expected), true);
    if (duties.includes('authentication')) {
      await expectStatus(call(target, 'GET', path, { token: 'none' }), 401, 'an unknown token');
    }
    let listed = 1;
    const { run } = sideOf(name, floor);
    floors.push({
      name,
      run(total: number): Promise<number> {
        listed += total;
        return run(total);
      },
      async check(): Promise<void> {
        // Audit events are collected for 50 ms.
        await setTimeout(200);
        if (duties.includes('audit')) await expectLines(auditFile, listed);
        if (duties.includes('metrics')) await expectCounted(target, listed, '200');
      },
    });
  }
  const plain = await startFloor('bytes', expected);
  const sides = [sideOf('plain floor', plain), ...floors, sideOf('Clusterpass', server)];
  await measure('lists by a selector that matches 200 of 10,000', sides, LIST_WARM_UP);
  for (const floor of floors) await floor.check();
}

/** A create floor with these duties; without any, the floor of `write`. */
async function createSide(adminToken: string, duties: CreateFloorSettings['duties'], name: string) {
  const folder = await makeFolder();
  const auditFile = join(folder, 'audit.log');
  const settings: CreateFloorSettings = { duties, adminToken, database: join(folder, 'floor.db'), auditFile };
  const server = await (duties.length === 0
    ? startFloor('create', new Uint8Array())
    : startFloor('create-duties', Buffer.from(JSON.stringify(settings))));
  const database = duties.length === 0 ? server.file : settings.database;
  const numbered = numberedCreate(adminToken);
  const target = { url: '', port: server.port, adminToken };
  const post = (body: object, token = adminToken): ReturnType<typeof call> =>
    call(target, 'POST', CLUSTERS_PATH, { token, body });
  let created = 0;
  return {
    name,
    async run(total: number): Promise<number> {
      const from = created;
      created += total;
      return drive(server, { numbered, from }, total);
    },
    /** Ends the server, too: no other process can open its database. */
    async check(): Promise<void> {
      const body = clusterBody('refused', {});
      if (duties.includes('authentication')) await expectStatus(post(body, 'none'), 401, 'an unknown token');
      if (duties.includes('validation')) {
        await expectStatus(post({ ...body, unknown: 1 }), 400, 'an unknown field');
        await expectStatus(post({ ...body, metadata: { name: 'No_Name' } }), 422, 'a wrong name');
      }
      if (duties.includes('cache')) {
        await expectStatus(post({ ...body, metadata: { name: 'new-00000000' } }), 409, 'a name that exists');
      }
      if (duties.includes('metrics')) await expectCounted(target, created);
      // Audit events are collected for 50 ms.
      await setTimeout(200);
      await server.end();
      if (duties.includes('audit')) await expectLines(auditFile, created);
      expectStored(database, created, duties.includes('managedFields'));
    },
  };
}

function expectStored(database: string, count: number, hasManagers: boolean): void {
  const db = openDatabase(database);
  const rows = db.prepare('SELECT count(*) AS count FROM log').get();
  const newest = db.prepare('SELECT value FROM log ORDER BY revision DESC LIMIT 1').get();
  db.close();
  expectEqual('stored objects', rows?.count, count);
  const { metadata } = JSON.parse(Buffer.from(newest?.value as Uint8Array).toString()) as { metadata: object };
  expectEqual('managedFields are stored', 'managedFields' in metadata, hasManagers);
}

async function creates(): Promise<void> {
  const clusters = 100;
  const server = await startFleetServer(clusterFleet({ clusters, bindings: 100 }));
  const numbered = numberedCreate(server.adminToken);
  const floors = [await createSide(server.adminToken, [], 'plain floor')];
  for (const { duties, name } of steps(CREATE_DUTIES)) floors.push(await createSide(server.adminToken, duties, name));
  let created = 0;
  const clusterpass: Side = {
    name: 'Clusterpass',
    async run(total) {
      const from = created;
      created += total;
      return drive(server, { numbered, from }, total);
    },
  };
  await measure('creates by 16 writers', [...floors, clusterpass], CREATE_WARM_UP);
  const { metadata } = await expectSuccess<{ metadata: { remainingItemCount: number } }>(
    call(server, 'GET', `${CLUSTERS_PATH}?limit=1`),
  );
  expectEqual('clusters that exist afterwards', metadata.remainingItemCount + 1, clusters + created);
  for (const floor of floors) await floor.check();
}

const WORKS: Readonly<Record<string, () => Promise<void>>> = { tokens, lists, creates };
const wanted = work === 'all' ? Object.values(WORKS) : [WORKS[work]];

try {
  for (const study of wanted) {
    if (study === undefined) throw new Error(`unknown work "${work}": expected all, ${Object.keys(WORKS).join(', ')}`);
    await study();
  }
} finally {
  await endAll();
}
