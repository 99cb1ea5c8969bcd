/**
 * CPU time of the server for a token exchange (RFC 8693), beside that for a TokenRequest. Both are of people with
 * tokens of an identity provider.
 *
 * Rounds are numbers of requests, not seconds: beside other load, a round of seconds has fewer requests, and the
 * warm-up would end before V8 has compiled the code of both sides. In a round the sides alternate in short slices, so
 * that load on the machine, which makes each request dearer, affects both.
 *
 *   npm run bench -- token-exchange [requests of each side in a round] [rounds] [requests of each side to warm up]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authenticationConfig, startProvider } from '../../test/e2e/support/provider.ts';
import { startServer } from '../../test/e2e/support/server.ts';
import { cpuOf } from '../support/cpu.ts';
import { DEMO_TOKEN_BODY, DEMO_TOKEN_PATH } from '../support/demo-tokens.ts';
import { Driver } from '../support/driver.ts';
import { median } from '../support/numbers.ts';
import { endAll } from '../support/processes.ts';

const [perRound = 4_000, rounds = 9, warmUp = 20_000] = process.argv.slice(2).map(Number);
const PEOPLE = 60;
const CONNECTIONS = 16;
/** Requests of one side before those of the other. */
const SLICE = 500;
const GOAL = 1.3;

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-exchange-'));
const file = join(folder, 'authentication.json');
const provider = await startProvider();
await writeFile(file, authenticationConfig([provider]));
const server = await startServer({
  tls: true,
  args: ['--demo', '--log-level', 'warn', '--authentication-config', file],
});
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const bound = await server.call('POST', `/apis/${RBAC_GROUP}/v1/clusterrolebindings`, {
  body: {
    metadata: { name: 'bench' },
    subjects: [{ kind: 'Group', apiGroup: RBAC_GROUP, name: 'id:bench' }],
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'clusterpass:token-creator' },
  },
});
if (bound.code !== 201) throw new Error(bound.text);
const tokens = await Promise.all(
  Array.from({ length: PEOPLE }, (_, index) => provider.sign({ sub: `person-${index}`, groups: ['bench'] })),
);

const requestOf = (path: string, headers: readonly string[], body: string): string =>
  [`POST ${path} HTTP/1.1`, 'Host: bench', ...headers, `Content-Length: ${body.length}`, '', body].join('\r\n');

const tokenRequests = tokens.map((token) =>
  requestOf(DEMO_TOKEN_PATH, [`Authorization: Bearer ${token}`, 'Content-Type: application/json'], DEMO_TOKEN_BODY),
);
const exchanges = tokens.map((subject_token) => {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    audience: 'prod-eu-1',
    scope: 'serviceaccount:ci:builder aud:bench',
  });
  return requestOf('/oauth/token', ['Content-Type: application/x-www-form-urlencoded'], form.toString());
});

const sides = {
  tokenRequest: join(folder, 'token-requests.json'),
  exchange: join(folder, 'exchanges.json'),
} as const;
await writeFile(sides.tokenRequest, JSON.stringify(tokenRequests));
await writeFile(sides.exchange, JSON.stringify(exchanges));
const driver = new Driver();
const target = { port: Number(new URL(server.url).port), cpu: () => cpuOf(server.pid) };

/** CPU time of the server for one response of each side. The driver fails for a response that is not a success. */
async function round(requests: number): Promise<Record<keyof typeof sides, number>> {
  const used = { tokenRequest: 0, exchange: 0 };
  const slices = Math.max(1, Math.round(requests / SLICE));
  for (let slice = 0; slice < slices; slice += 1) {
    const order = ['tokenRequest', 'exchange'] as const;
    for (const side of slice % 2 === 0 ? order : order.toReversed()) {
      const work = { requests: { file: sides[side] }, connections: CONNECTIONS, total: SLICE };
      used[side] += (await driver.run(target, work)).cpuPerUnit;
    }
  }
  return { tokenRequest: used.tokenRequest / slices, exchange: used.exchange / slices };
}

await round(warmUp);
const ratios: number[] = [];
console.log('CPU time of the server');
for (let at = 1; at <= rounds; at += 1) {
  const { tokenRequest, exchange } = await round(perRound);
  ratios.push(exchange / tokenRequest);
  const [first, second] = [tokenRequest, exchange].map((cpu) => cpu.toFixed(0));
  console.log(
    `round ${at}    TokenRequest ${first} us, exchange ${second} us: ${(exchange / tokenRequest).toFixed(2)}`,
  );
}
const ratio = median(ratios);
const holds = ratio <= GOAL;
const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((one) => one.toFixed(2));
console.log(
  `an exchange costs ${ratio.toFixed(2)} (${least} to ${most}) of a TokenRequest; goal at most ${GOAL}: ${holds ? 'holds' : 'MISSED'}`,
);
await Promise.all([server.destroy(), provider.close()]);
await endAll();
await rm(folder, { recursive: true, force: true });
process.exit(holds ? 0 : 1);
