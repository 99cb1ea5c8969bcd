/**
 * CPU time of the server for a token exchange (RFC 8693), beside that for a TokenRequest. Both are of people with
 * tokens of an identity provider.
 *
 *   npm run bench -- exchange [seconds for each part] [rounds]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authenticationConfig, startProvider } from '../../test/e2e/support/provider.ts';
import { startServer } from '../../test/e2e/support/server.ts';
import { cpuOf } from '../support/cpu.ts';
import { DEMO_TOKEN_BODY, DEMO_TOKEN_PATH } from '../support/demo-tokens.ts';
import { startLoad } from '../support/load.ts';
import { median } from '../support/numbers.ts';

const [seconds = '5', rounds = '5'] = process.argv.slice(2);
const PEOPLE = 60;
const CONNECTIONS = 32;
const GOAL = 1.3;

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-exchange-'));
const file = join(folder, 'authentication.json');
const provider = await startProvider();
await writeFile(file, authenticationConfig([provider]));
const server = await startServer({ args: ['--demo', '--log-level', 'warn', '--authentication-config', file] });
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

/** CPU time of the server for each response. Fails unless all responses have this status. */
async function cost(requests: readonly string[], status: string): Promise<number> {
  const before = cpuOf(server.pid);
  const port = Number(new URL(server.url).port);
  const { codes } = await startLoad({ port, requests, connections: CONNECTIONS, rate: 0, seconds: Number(seconds) });
  const used = cpuOf(server.pid) - before;
  const count = codes[status] ?? 0;
  if (Object.keys(codes).some((code) => code !== status)) {
    throw new Error(`expected only ${status}: ${JSON.stringify(codes)}`);
  }
  return used / count;
}

// The first of each is the warm-up.
await cost(tokenRequests, '201');
await cost(exchanges, '200');
const ratios: number[] = [];
console.log('CPU time of the server');
for (let round = 0; round < Number(rounds); round += 1) {
  // The side that begins changes: other load on the machine then affects both.
  const first = round % 2 === 1 ? await cost(exchanges, '200') : undefined;
  const tokenRequest = await cost(tokenRequests, '201');
  const exchange = first ?? (await cost(exchanges, '200'));
  ratios.push(exchange / tokenRequest);
  console.log(`round ${round + 1}    TokenRequest ${tokenRequest.toFixed(0)} us, exchange ${exchange.toFixed(0)} us`);
}
const ratio = median(ratios);
const holds = ratio <= GOAL;
console.log(
  `an exchange costs ${ratio.toFixed(2)} of a TokenRequest (median); goal at most ${GOAL}: ${holds ? 'holds' : 'MISSED'}`,
);
await Promise.all([server.destroy(), provider.close()]);
await rm(folder, { recursive: true, force: true });
process.exit(holds ? 0 : 1);
