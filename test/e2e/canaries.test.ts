import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeAnswer, type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { allAuditBytes, eventsOf } from './support/audit.ts';
import {
  claimsFor,
  credentialsOf,
  goodAnswer,
  jwt,
  register,
  statusAnswer,
  tokenAnswer,
  writeCredential,
} from './support/forwarding.ts';
import { ASK, bind, createObjects, issue, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, type Server, startServer, TLS, tokenOf } from './support/server.ts';

/**
 * A8: secrets that the server holds or receives, with every log at its most verbose. No secret is in a file, a log or a
 * response of the server. Secrets in requests are in audit.test.ts.
 */

const canary = (of: string): string => `canary-${of}-${randomBytes(12).toString('hex')}`;
const SECRETS = {
  credential: canary('credential-of-a-cluster'),
  upstream: canary('answer-of-a-cluster'),
  provider: canary('answer-of-a-provider'),
  callerToken: tokenOf('jane'),
  encryptionKey: randomBytes(32).toString('base64'),
};
const authority = createAuthority('cluster CA');
const client = authority.issue({ names: ['clusterpass'] });

let server: Server;
let cluster: FakeApiServer;
let provider: FakeApiServer;
let folder: string;
let spans = '';
const collector = createServer(async (req, res) => {
  for await (const chunk of req) spans += chunk;
  res.end('{}');
});
/** Bodies and headers of all responses. */
const answers: string[] = [];
/** Every request is traced. */
const TRACED = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };

const call = async (...[method, path, options = {}]: Parameters<Server['call']>): Promise<Answer> => {
  const answer = await server.call(method, path, { ...options, headers: { ...TRACED, ...options.headers } });
  answers.push(`${answer.text}\n${JSON.stringify([...answer.headers])}`);
  return answer;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-canaries-'));
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const [cert, key, ca] = await Promise.all(
    [TLS.certFile, TLS.keyFile, TLS.caFile].map((file) => readFile(file, 'utf8')),
  );
  provider = await startApiServer({ cert: cert ?? '', key: key ?? '' }, () => ({
    status: 500,
    body: SECRETS.provider,
  }));
  cluster = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), goodAnswer);
  const keyFile = join(folder, 'encryption.key');
  await writeFile(keyFile, SECRETS.encryptionKey, { mode: 0o600 });
  const config = join(folder, 'authentication.json');
  const issuer = { url: `https://127.0.0.1:${provider.port}`, audiences: ['clusterpass'], certificateAuthority: ca };
  await writeFile(
    config,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [{ issuer, claimMappings: { username: { claim: 'sub', prefix: 'id:' } } }],
    }),
  );
  const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-canaries-data-'));
  await mkdir(credentialsOf({ dataDir }), { mode: 0o700 });
  server = await startServer({
    dataDir,
    users: { jane: ['dev'] },
    args: [
      ...['--credentials-dir', credentialsOf({ dataDir }), '--cluster-networks', '127.0.0.0/8'],
      ...['--log-level', 'debug', '--audit-log-path', join(folder, 'audit', 'audit.log')],
      ...['--encryption-key-file', keyFile, '--authentication-config', config],
      ...['--console-oidc-issuer', issuer.url, '--console-oidc-client-id', 'unlisted'],
      ...['--tracing-endpoint', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`],
    ],
    env: {
      NODE_OPTIONS: `--import=${new URL('./support/crash.mjs', import.meta.url).href} --report-uncaught-exception --report-exclude-network --report-directory=${folder}`,
    },
  });
  await createObjects(server);
  await bind(server, 'jane-tokens', { kind: 'User', name: 'jane' });
  await register(server, { name: 'real', port: cluster.port, ca: authority.cert }, SECRETS.credential);
});
afterAll(async () => {
  await server?.destroy();
  await Promise.all([cluster?.close(), provider?.close()]);
  await new Promise((resolve) => collector.close(resolve));
});

const REAL = tokenPath('builder', 'ci', 'real');
const { credential, upstream } = SECRETS;

/** Hostile responses of a cluster that contain a secret, or repeat the request. */
const REVEALING: readonly [string, FakeApiServer['answer']][] = [
  ['a token that says something else', () => tokenAnswer(jwt({ sub: upstream, iss: credential }))],
  ['a token whose id is the credential', (seen) => tokenAnswer(jwt({ ...claimsFor(seen), jti: credential }))],
  [
    'a token whose account is the credential',
    (seen) => tokenAnswer(jwt({ ...claimsFor(seen), 'kubernetes.io': credential })),
  ],
  [
    'a message that spells the credential in escapes',
    (): FakeAnswer => ({
      status: 404,
      body: `{"kind":"Status","message":"${[...credential].map((sign) => `\\u00${sign.charCodeAt(0).toString(16)}`).join('')}"}`,
    }),
  ],
  ['a token that is none', () => tokenAnswer(`${upstream} ${credential}`)],
  ['a token with more than a token', () => tokenAnswer({ [upstream]: credential })],
  ['HTML', () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: `<b>${upstream} ${credential}</b>` })],
  ['JSON that breaks off', () => ({ status: 201, body: `{"status":{"token":"${upstream} ${credential}` })],
  ['another kind', () => ({ status: 201, body: JSON.stringify({ kind: `${upstream} ${credential}` }) })],
  ['a redirect', () => ({ status: 302, headers: { location: `https://${upstream}.example/?token=${credential}` } })],
  [
    'headers',
    (): FakeAnswer => ({
      status: 500,
      headers: { 'x-debug': `${upstream} ${credential}`, warning: `299 - "${upstream}"` },
    }),
  ],
  ...[400, 401, 403, 404, 409, 422, 429, 500, 503].map((code): [string, FakeApiServer['answer']] => [
    `a ${code} that repeats the credential`,
    (seen) =>
      statusAnswer(code, 'Reason', `${upstream}: ${seen.headers.authorization}`, {
        name: credential,
        causes: [{ message: credential }],
      }),
  ]),
];

it.each(REVEALING)('a cluster that answers with %s', async (_, answer) => {
  cluster.answer = answer;
  const { code } = await call('POST', REAL, { body: ASK, token: SECRETS.callerToken });
  expect(code).toBeGreaterThanOrEqual(400);
});

it('a credential that cannot be used, a provider that fails, and every kind of work', async () => {
  cluster.answer = goodAnswer;
  await writeCredential(server, 'real', { token: `${credential}\nsecond line ${upstream}\n` });
  await call('POST', REAL, { body: ASK });
  await rm(join(credentialsOf(server), 'fleet', 'real', 'token'));
  await writeCredential(server, 'real', {
    'tls.crt': client.cert,
    'tls.key': `${client.key.slice(0, 80)}${upstream}`,
  });
  await call('POST', REAL, { body: ASK });
  const foreign = jwt({ iss: `https://127.0.0.1:${provider.port}`, sub: 'x', aud: 'clusterpass', exp: 4e9 });
  expect((await call('GET', CLUSTERS, { token: foreign })).code).toBe(401);
  for (const token of [SECRETS.callerToken, `${SECRETS.callerToken}x`, await issue(server)]) {
    await call('GET', '/auth/v1/clusters', { token });
    await call('GET', CLUSTERS, { token });
    await call('GET', `${CLUSTERS}?watch=1&timeoutSeconds=1`, { token });
  }
  await call('GET', `${CLUSTERS}/real`);
});

describe('no canary', () => {
  it('is in a log, an audit log, metrics, a trace, a response, or the files that remain after a crash', async () => {
    const last = await call('GET', '/metrics');
    await eventsOf(join(folder, 'audit', 'audit.log'), last.headers.get('audit-id'));
    // Spans are sent in batches, and a crash would lose those that wait.
    await expect.poll(() => spans).toContain('/orchestrator/real/');
    process.kill(server.pid, 'SIGUSR2');
    await expect.poll(async () => (await readdir(folder)).some((name) => name.startsWith('report.'))).toBe(true);
    expect(await server.stop()).not.toBe(0);
    const report = (await readdir(folder)).find((name) => name.startsWith('report.')) ?? '';
    const outputs = {
      ...server.output,
      audit: await allAuditBytes(join(folder, 'audit', 'audit.log')),
      report: await readFile(join(folder, report), 'utf8'),
      spans,
      answers: answers.join('\n'),
    };
    // Each of these files has content.
    expect(outputs.stderr).toContain('crashed on purpose');
    expect(outputs.stderr).toContain('"level":"debug"');
    expect(outputs.stderr).toContain('--console-oidc-issuer is not in --authentication-config with this audience');
    expect(outputs.report).toContain('crashed on purpose');
    for (const text of [outputs.audit, outputs.spans]) expect(text).toContain('/orchestrator/real/');
    expect(outputs.answers).toContain('apiserver_request_total');
    const secrets = { ...SECRETS, admin: server.adminToken, privateKey: 'PRIVATE KEY', jwt: 'eyJ' };
    for (const [output, text] of Object.entries(outputs)) {
      for (const [name, secret] of Object.entries(secrets)) {
        expect(text.includes(secret), `${name} in ${output}`).toBe(false);
      }
    }
  });
});
