import { once } from 'node:events';
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioClientTransport1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { PROGRAM } from '../program.ts';
import { allAuditBytes, eventsOf } from './support/audit.ts';
import { Person } from './support/cli.ts';
import { patchCluster } from './support/fleet.ts';
import {
  bind,
  codeFor,
  createAccount,
  createCluster,
  createNamespace,
  createObjects,
  issue,
  tokenPath,
} from './support/objects.ts';
import { authenticationConfig, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { grant, may } from './support/rbac.ts';
import { type Answer, type Server, startServer, TLS, tokenOf } from './support/server.ts';

/** MCP over both transports. The clients of the SDK check the protocol. */

const CLUSTER_RULE = { verbs: ['get', 'list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] };
const REQUEST_RULE = { verbs: ['create'], apiGroups: ['clusterpass.dev'], resources: ['accessrequests'] };
const ALLOWED_ORIGIN = 'https://agent.example.com';
const SCOPES = 'openid clusterpass:read clusterpass:pass';

let folder: string;
let audit: string;
let provider: IdentityProvider;
let server: Server;
let resource: string;
/** A token of jane for `/mcp`, and one for everything else. */
let agentToken: string;
let loginToken: string;
/** All responses to clients. */
const told: string[] = [];
/** Tokens that passes were redeemed for. */
const secrets: string[] = [];

/** Spans that the server has exported. */
let spans = '';
const collector = createServer(async (req, res) => {
  spans += await text(req);
  res.end();
});

const signFor = (claims: object = {}): Promise<string> => {
  const token = { sub: 'jane', aud: resource, client_id: 'agent-1', scope: SCOPES, ...claims };
  return provider.sign(token, { typ: 'at+jwt' });
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-mcp-'));
  audit = join(folder, 'audit', 'audit.log');
  const file = join(folder, 'authentication.json');
  const [port = 0] = await freePorts(1);
  resource = `https://127.0.0.1:${port}/mcp`;
  provider = await startProvider();
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { url, ca } = provider;
  const audiences = { audiences: [CLIENT_ID, resource], audienceMatchPolicy: 'MatchAny' };
  await writeFile(file, authenticationConfig([provider], { issuer: { url, certificateAuthority: ca, ...audiences } }));
  server = await startServer({
    port,
    args: [
      ...['--authentication-config', file, '--audit-log-path', audit, '--log-level', 'debug'],
      ...['--tracing-endpoint', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`],
      ...['--mcp', '--mcp-authorization-server', url, '--mcp-allowed-origin', ALLOWED_ORIGIN],
    ],
    users: { carl: [] },
    tls: true,
  });
  await createObjects(server);
  const jane = { kind: 'User', name: 'id:jane' } as const;
  await bind(server, 'jane-tokens', jane, undefined, 'env=prod');
  await bind(server, 'jane-clusters', jane, CLUSTER_RULE);
  await bind(server, 'jane-requests', jane, REQUEST_RULE);
  const agents = { to: 'id:jane', rules: [may('create', 'serviceaccounts/token')] };
  await grant(server, { ...agents, clusters: 'env=prod', fields: { agents: 'Allow' } });
  await grant(server, { ...agents, clusters: 'env=test', fields: { agents: 'Allow', approval: { by: 'Requester' } } });
  await createCluster(server, 'gamma', { env: 'test' });
  await createNamespace(server, 'ci', 'gamma');
  await createAccount(server, 'builder', 'ci', 'gamma');
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://alpha.example.com' }];
  await patchCluster(server, 'alpha', { spec: { orchestratorApiEndpoints: { serverEndpoints } } });
  [agentToken, loginToken] = await Promise.all([signFor(), provider.sign({ sub: 'jane' })]);
});
afterAll(async () => {
  await server?.destroy();
  await provider?.close();
  collector.close();
});

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
};

interface Post {
  readonly method?: string;
  readonly params?: object;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A modern request without an SDK. */
async function post({
  method = 'tools/list',
  params = {},
  token = agentToken,
  headers = {},
  body,
}: Post = {}): Promise<Answer> {
  const { name } = params as { name?: string };
  const answer = await server.call('POST', '/mcp', {
    token,
    headers: {
      'Content-Type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      ...(name === undefined ? {} : { 'mcp-name': name }),
      ...headers,
    },
    body: body ?? { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
  });
  told.push(answer.text);
  return answer;
}

const call = (name: string, args: object = {}, more: Post = {}): Promise<Answer> =>
  post({ method: 'tools/call', params: { name, arguments: args }, ...more });

const METADATA = '/.well-known/oauth-protected-resource';

describe('MC-40, MC-41: metadata of the protected resource', () => {
  it.each([METADATA, `${METADATA}/mcp`])('is public at %s', async (path) => {
    const { code, json, headers } = await server.call('GET', path, { token: null });
    expect([code, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600']);
    expect(json).toEqual({
      resource,
      authorization_servers: [provider.url],
      scopes_supported: ['clusterpass:read', 'clusterpass:pass'],
      bearer_methods_supported: ['header'],
      resource_name: 'Clusterpass',
    });
  });
});

describe('A35: tokens, MC-42, MC-43', () => {
  const challengeOf = ({ code, headers }: Answer): unknown[] => [code, headers.get('www-authenticate')];

  it('without a token, the challenge names the metadata of the resource', async () => {
    const metadata = `resource_metadata="${server.url}${METADATA}/mcp"`;
    expect(challengeOf(await post({ token: null }))).toEqual([401, `Bearer ${metadata}, scope="clusterpass:read"`]);
  });

  it('only tokens that were issued for /mcp are accepted there', async () => {
    const tokens = [
      server.adminToken,
      tokenOf('carl'),
      loginToken,
      await issue(server),
      await issue(server, tokenPath(), { audiences: [`${resource}/`] }),
      await signFor({ aud: `${resource}/` }),
      await signFor({ aud: server.url }),
      await signFor({ exp: Date.now() / 1000 - 1 }),
      await signFor({ iss: 'https://id.example.com' }),
    ];
    for (const token of tokens) expect((await post({ token })).code).toBe(401);
  });

  it('a token for /mcp is accepted nowhere else, and one for both is accepted nowhere', async () => {
    expect(await codeFor(server, agentToken)).toBe(401);
    expect(await codeFor(server, await provider.sign({ sub: 'jane', aud: resource }))).toBe(401);
    const both = await provider.sign({ sub: 'jane', aud: [resource, CLIENT_ID] });
    expect([await codeFor(server, both), (await post({ token: both })).code]).toEqual([401, 401]);
    // RFC 9068: an access token identifies no person.
    expect(await codeFor(server, await signFor({ aud: [resource, CLIENT_ID] }))).toBe(401);
  });

  it('MC-45: a token without the scope may read, and is asked for more', async () => {
    const token = await signFor({ scope: 'openid' });
    expect((await call('clusters_list', {}, { token })).code).toBe(200);
    expect(challengeOf(await call('access_request', {}, { token }))).toEqual([
      403,
      `Bearer error="insufficient_scope", resource_metadata="${server.url}${METADATA}/mcp", scope="clusterpass:read clusterpass:pass"`,
    ]);
  });

  it('MC-96: an agent can have its own account', async () => {
    const token = await issue(server, tokenPath(), { audiences: [resource] });
    expect(await codeFor(server, token)).toBe(401);
    const { json } = await call('clusters_list', {}, { token });
    expect(json.result.structuredContent).toEqual({ clusters: [], remaining: 0 });
  });
});

describe('A48: an agent acts as the person of its token', () => {
  it('not as a user whom that person may impersonate', async () => {
    const max = { to: 'id:max', rules: [may('create', 'serviceaccounts/token')] };
    const take = await grant(server, { ...max, clusters: 'env=dev', fields: { agents: 'Allow' } });
    const stop = await grant(server, { to: 'id:jane', rules: [may('impersonate', 'users', '', ['id:max'])] });
    const headers = { 'Impersonate-User': 'id:max' };
    const args = { cluster: 'beta', namespace: 'ci', account: 'builder', purpose: 'read as another' };
    const answer = await call('pass_request', args, { headers });
    expect([answer.code, answer.json.message]).toEqual([400, expect.stringContaining('Impersonate-')]);
    expect((await call('clusters_list', {}, { headers })).code).toBe(400);
    await Promise.all([take(), stop()]);
  });
});

/** The common methods of the clients. */
interface AnyClient {
  // biome-ignore lint/suspicious/noExplicitAny: two SDKs, two types
  listTools(): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: two SDKs, two types
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<any>;
  close(): Promise<void>;
}

const INFO = { name: 'oracle', version: '1' };
const stdioParameters = (...flags: string[]) => ({
  command: process.execPath,
  args: [PROGRAM, 'mcp', ...flags],
  env: {
    HOME: folder,
    CLUSTERPASS_SERVER: server.url,
    CLUSTERPASS_TOKEN: loginToken,
    CLUSTERPASS_CA: TLS.caFile,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
  },
});
let clients = 0;
/** A token of another client each time: each has sixty calls a minute, ten of them for passes. */
async function bearer() {
  const token = await signFor({ client_id: `oracle-${++clients}` });
  secrets.push(token);
  return { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
}

type Mode = 'legacy' | 'auto' | { pin: string };

async function connect2(mode: Mode, over: 'http' | 'stdio'): Promise<AnyClient> {
  const client = new Client(INFO, { versionNegotiation: { mode } });
  await client.connect(
    over === 'http'
      ? new StreamableHTTPClientTransport(new URL(resource), await bearer())
      : new StdioClientTransport(stdioParameters()),
  );
  expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
  return client as AnyClient;
}

async function connect1(over: 'http' | 'stdio'): Promise<AnyClient> {
  const client = new Client1(INFO);
  const transport =
    over === 'http'
      ? new StreamableHTTPClientTransport1(new URL(resource), await bearer())
      : new StdioClientTransport1(stdioParameters());
  // Its types are not written for exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client1['connect']>[0]);
  expect(client.getServerVersion()?.name).toBe('clusterpass');
  return client as AnyClient;
}

const PASSES = '/apis/clusterpass.dev/v1alpha1/passes';
const ACCOUNT = { cluster: 'alpha', namespace: 'ci', account: 'builder' };

/** As the exec plugin of a kubeconfig does, on the machine of `clusterpass mcp`. */
async function redeemHere(handle: string): Promise<string> {
  const person = await Person.at(stdioParameters().env);
  const { token } = JSON.parse(await person.ok(['credential', '--pass', handle])).status;
  secrets.push(token);
  return token;
}

const approve = (handle: string, token: string): Promise<Answer> =>
  server.call('PATCH', `${PASSES}/${handle}/approval`, {
    token,
    body: { status: { conditions: [{ type: 'Approved', status: 'True' }] } },
  });

describe('MC-11, MC-14: requests', () => {
  it.each<[string, number, () => Promise<Answer>]>([
    ['another Origin', 403, () => post({ headers: { origin: 'https://evil.example' } })],
    ['an allowed Origin', 200, () => post({ headers: { origin: ALLOWED_ORIGIN } })],
    ['GET', 405, () => server.call('GET', '/mcp', { token: agentToken })],
    ['a body beyond 64 KiB', 413, () => post({ body: { x: 'x'.repeat(65_536) } })],
    ['a notification', 202, () => post({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } })],
  ])('%s: %d', async (_, code, send) => {
    const answer = await send();
    expect(answer.code, answer.text).toBe(code);
    if (code === 405) expect(answer.headers.get('allow')).toBe('POST');
  });
});

describe('MC-02, MC-60, MC-61: the clients of the SDK run every tool', () => {
  it.each<[string, () => Promise<AnyClient>]>([
    ['2.x, auto, HTTP', () => connect2('auto', 'http')],
    ['2.x, pinned, HTTP', () => connect2({ pin: '2026-07-28' }, 'http')],
    ['2.x, legacy, HTTP', () => connect2('legacy', 'http')],
    ['1.x, HTTP', () => connect1('http')],
    ['2.x, auto, stdio', () => connect2('auto', 'stdio')],
    ['2.x, pinned, stdio', () => connect2({ pin: '2026-07-28' }, 'stdio')],
    ['2.x, legacy, stdio', () => connect2('legacy', 'stdio')],
    ['1.x, stdio', () => connect1('stdio')],
  ])('%s', async (_, connect) => {
    const client = await connect();
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    const names = tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual([
      ...['clusters_list', 'cluster_describe', 'access_explain', 'access_request'],
      ...['pass_request', 'pass_list', 'pass_revoke'],
    ]);
    /** The client checks structured content by the output schema. */
    const run = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args });
      told.push(JSON.stringify(result));
      return result;
    };
    const first = await run('clusters_list', { limit: 1 });
    expect(first.structuredContent).toMatchObject({
      clusters: [{ name: 'alpha', labels: { env: 'prod' } }],
      remaining: 2,
    });
    const next = await run('clusters_list', { cursor: first.structuredContent.cursor });
    expect(next.structuredContent).toMatchObject({ clusters: [{ name: 'beta' }, { name: 'gamma' }], remaining: 0 });
    const selected = await run('clusters_list', { selector: 'env in (dev)' });
    expect(selected.structuredContent.clusters.map(({ name }: { name: string }) => name)).toEqual(['beta']);

    expect((await run('cluster_describe', { cluster: 'alpha' })).structuredContent).toMatchObject({
      name: 'alpha',
      accounts: [
        { namespace: 'ci', name: 'builder' },
        { namespace: 'ci', name: 'other' },
      ],
      issuer: `${server.url}/orchestrator/alpha`,
      visibleBy: expect.stringContaining('ClusterRoleBinding "jane-clusters"'),
    });
    const hidden = await run('cluster_describe', { cluster: 'no-such' });
    expect([hidden.isError, hidden.content[0].text]).toEqual([true, expect.stringContaining('clusters_list')]);

    expect((await run('access_explain', ACCOUNT)).structuredContent).toMatchObject({
      allowed: true,
      rule: expect.stringContaining('FleetRoleBinding'),
      grantedSeconds: 600,
      approval: 'none',
    });
    expect((await run('access_explain', { ...ACCOUNT, cluster: 'beta' })).structuredContent).toEqual({
      allowed: false,
      missing: expect.stringContaining('Ask for it with access_request'),
    });

    const asked = await run('access_request', { ...ACCOUNT, cluster: 'beta', reason: 'restart the deployment' });
    expect(asked.structuredContent).toMatchObject({ phase: 'Pending', name: expect.stringMatching(/^agent-/) });
    // A caller may have ten open requests.
    const path = `/apis/clusterpass.dev/v1alpha1/accessrequests/${asked.structuredContent.name}`;
    expect((await server.call('DELETE', path)).code).toBe(200);

    const pass = (await run('pass_request', { ...ACCOUNT, purpose: 'read the logs' })).structuredContent;
    expect(pass).toMatchObject({ state: 'ready', handle: expect.stringMatching(/^pass_/), use: expect.anything() });
    const token = await redeemHere(pass.handle);
    expect(await codeFor(server, token)).toBe(200);
    const { passes } = (await run('pass_list', { cluster: 'alpha' })).structuredContent;
    const own = passes.find(({ handle }: { handle: string }) => handle === pass.handle);
    expect(own).toMatchObject({ state: 'ready', purpose: 'read the logs', tokens: [{ id: expect.any(String) }] });
    const revoked = await run('pass_revoke', { handle: pass.handle });
    const warnings = [expect.stringMatching(/verify them with the key set accept them until 20\S+Z$/)];
    expect(revoked.structuredContent).toEqual({ handle: pass.handle, revokedTokens: 1, warnings });
    expect(await codeFor(server, token)).toBe(401);

    const bad = await run('clusters_list', { limit: 1_000, x: 1 });
    expect([bad.isError, bad.content[0].text]).toEqual([true, expect.stringContaining('limit must be <= 200')]);
  });

  it('MC-10: --read-only leaves out the tools that change something', async () => {
    const client = new Client(INFO);
    await client.connect(new StdioClientTransport(stdioParameters('--read-only')));
    const { tools } = await client.listTools();
    expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).not.toContain(false);
    expect(tools.length).toBeGreaterThanOrEqual(3);
    await client.close();
  });
});

describe('passes', () => {
  const ARGUMENTS = { ...ACCOUNT, purpose: 'read the logs' };
  const ask = async (args: object = {}, more: Post = {}) =>
    (await call('pass_request', { ...ARGUMENTS, ...args }, more)).json.result;

  it('A48, MC-75: over stdio a pass comes with a kubeconfig that redeems it here, and has no secret', async () => {
    const client = await connect2('legacy', 'stdio');
    const { structuredContent } = await client.callTool({ name: 'pass_request', arguments: ARGUMENTS });
    const file = structuredContent.use.replace(/^KUBECONFIG=/, '');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await readFile(file, 'utf8');
    told.push(text);
    expect(text).toContain(structuredContent.handle);
    expect(text).toContain('https://alpha.example.com');
    const person = await Person.at(stdioParameters().env);
    const redemption = ['credential', '--cluster', ACCOUNT.cluster, '--pass', structuredContent.handle];
    // The handle is in the context of the model. With the login of the person it is still of no use elsewhere.
    const { HOME: _, ...elsewhere } = stdioParameters().env;
    const thief = await Person.at(elsewhere);
    secrets.push((await readFile(join(folder, '.config/clusterpass/machine.key'), 'utf8')).trim());
    expect(await thief.fails(redemption)).toContain('on the machine that requested it');
    secrets.push(JSON.parse(await person.ok(redemption)).status.token);
    await client.callTool({ name: 'pass_revoke', arguments: { handle: structuredContent.handle } });
    await expect(stat(file)).rejects.toThrow('ENOENT');
    expect(await person.fails(redemption)).toContain('not found');
    // A token for another API: a kubeconfig would send it to the cluster.
    const other = { ...ARGUMENTS, audience: 'vault' };
    const { structuredContent: vault } = await client.callTool({ name: 'pass_request', arguments: other });
    expect(vault.use).toBe(
      `no kubeconfig for ${vault.handle}: its token is for vault and not for the cluster; ` +
        `clusterpass credential --pass ${vault.handle} redeems it`,
    );
    await client.close();
  });

  it('MC-33: a handle is of no use to another person, nor to a token for /mcp', async () => {
    const { handle } = (await ask()).structuredContent;
    const eve = await signFor({ sub: 'eve' });
    const revoked = (await call('pass_revoke', { handle }, { token: eve })).json.result;
    expect([revoked.isError, (await call('pass_list', {}, { token: eve })).json.result.structuredContent]).toEqual([
      true,
      { passes: [] },
    ]);
    const redeem = async (token: string) => (await server.call('POST', `${PASSES}/${handle}/token`, { token })).code;
    const eveLogin = await provider.sign({ sub: 'eve' });
    expect([await redeem(agentToken), await redeem(eveLogin), await redeem(loginToken)]).toEqual([401, 404, 201]);
  });

  it('MC-45: a token that names no client gets none', async () => {
    const result = await ask({}, { token: await signFor({ client_id: undefined }) });
    expect([result.isError, result.content[0].text]).toEqual([true, expect.stringContaining('names no client')]);
    // The id that marks an agent with the login of a person.
    const asLogin = await ask({}, { token: await signFor({ client_id: 'login' }) });
    expect([asLogin.isError, asLogin.content[0].text]).toEqual([true, expect.stringContaining('"login" is reserved')]);
  });

  describe('MC-92: a pass that its person has to confirm', () => {
    const GAMMA = { ...ARGUMENTS, cluster: 'gamma' };
    const withUrls = async (answer: (url: string) => Promise<void>) => {
      const client = new Client(INFO, {
        capabilities: { elicitation: { url: {} } },
        versionNegotiation: { mode: 'auto' },
        inputRequired: { maxRounds: 2 },
      });
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        if (params.mode !== 'url') throw new Error('a form is no approval');
        await answer(params.url);
        return { action: 'accept' };
      });
      await client.connect(new StreamableHTTPClientTransport(new URL(resource), await bearer()));
      return client;
    };

    it('is ready when the person has confirmed it at the page that the client opened', async () => {
      const client = await withUrls(async (url) => {
        const handle = url.split('/').at(-1) ?? '';
        // Not with the token of the agent.
        expect((await approve(handle, agentToken)).code).toBe(401);
        expect((await approve(handle, loginToken)).code).toBe(200);
      });
      const result = await client.callTool({
        name: 'pass_request',
        arguments: { ...GAMMA, purpose: 'confirmed work' },
      });
      expect(result.structuredContent).toMatchObject({ state: 'ready', cluster: 'gamma' });
      await client.close();
    });

    it('a client that answers by itself gains nothing, and is asked once', async () => {
      let asked = 0;
      const client = await withUrls(async () => {
        asked += 1;
      });
      const { structuredContent } = await client.callTool({
        name: 'pass_request',
        arguments: { ...GAMMA, purpose: 'not confirmed' },
      });
      expect([asked, structuredContent]).toMatchObject([1, { state: 'pending', approveUrl: expect.anything() }]);
      await client.close();
      const { passes } = (await call('pass_list', { cluster: 'gamma' })).json.result.structuredContent;
      const state = passes.find(({ purpose }: { purpose: string }) => purpose === 'not confirmed').state;
      expect(state).toBe('pending');
    });
  });
});

describe('records', () => {
  it('MC-80: each request of a tool has an audit event, and so has the call', async () => {
    const { headers } = await call('clusters_list');
    const events = await eventsOf(audit, headers.get('audit-id'), 2);
    const agent = {
      'clusterpass.dev/surface': 'mcp-http',
      'clusterpass.dev/tool': 'clusters_list',
      'clusterpass.dev/client': 'agent-1',
      'clusterpass.dev/client-name': 'raw/1',
    };
    const list = events.find(({ objectRef }) => objectRef !== undefined);
    expect(list).toMatchObject({
      verb: 'list',
      user: { username: 'id:jane' },
      objectRef: { resource: 'clusters', apiGroup: 'clusterregistry.k8s.io' },
      annotations: agent,
    });
    const whole = events.find(({ objectRef }) => objectRef === undefined);
    expect(whole).toMatchObject({ verb: 'post', requestURI: '/mcp', annotations: agent });
  });

  it('MC-80: over stdio the requests say which tool and which client makes them', async () => {
    const client = await connect2('legacy', 'stdio');
    await client.callTool({ name: 'clusters_list', arguments: {} });
    await client.close();
    const { headers } = await call('clusters_list');
    await eventsOf(audit, headers.get('audit-id'), 2);
    const lines = (await readFile(audit, 'utf8')).split('\n').filter((line) => line.includes('"mcp-stdio"'));
    expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({
      verb: 'list',
      user: { username: 'id:jane' },
      annotations: {
        'clusterpass.dev/surface': 'mcp-stdio',
        'clusterpass.dev/tool': 'clusters_list',
        'clusterpass.dev/client': 'login',
        'clusterpass.dev/client-name': 'oracle/1',
      },
    });
  });

  it('no token is in a result, log, span or audit event', async () => {
    // Spans are sent in batches.
    await expect.poll(() => spans).toContain('/mcp');
    const written = [told.join('\n'), server.output.stderr, spans, await allAuditBytes(audit)].join('\n');
    expect(told.length).toBeGreaterThan(80);
    for (const secret of [agentToken, loginToken, server.adminToken, tokenOf('carl'), ...secrets]) {
      expect(written.includes(secret)).toBe(false);
    }
    // A cursor has no dots, a JWT has two.
    expect(written).not.toMatch(/eyJ[\w-]{10,}\.[\w-]{10,}\./);
    expect(await readFile(audit, 'utf8')).toContain('"clusterpass.dev/surface":"mcp-http"');
  });
});
