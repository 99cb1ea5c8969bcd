import { describe, expect, it } from 'vitest';
import { unauthorized } from '../../api/status.ts';
import { createMcpEndpoint, InsufficientScope, isMcpPath } from './mcp-endpoint.ts';

const endpoint = (now = () => 0, limits = { callsPerMinute: 60, passRequestsPerMinute: 10 }) =>
  createMcpEndpoint({
    version: '0',
    productName: 'orchestrator',
    baseUrl: () => 'https://cp.example.com',
    authorizationServers: ['https://id.example.com'],
    allowedOrigins: ['https://agent.example.com'],
    authenticate: () => Promise.reject(unauthorized()),
    ...limits,
    maxResultBytes: 65_536,
    callTimeoutMs: 30_000,
    now,
  });

describe('MC-78: rate limits', () => {
  it('60 calls a minute for each user and client, 10 of them pass_request', () => {
    let time = 0;
    const { secondsToWait } = endpoint(() => time);
    const passes = Array.from({ length: 11 }, () => secondsToWait('jane\na', 'pass_request'));
    expect(passes).toEqual([...Array(10).fill(0), 6]);
    const others = Array.from({ length: 51 }, () => secondsToWait('jane\na', 'clusters_list'));
    expect(others).toEqual([...Array(50).fill(0), 1]);
    expect(secondsToWait('jane\nb', 'clusters_list')).toBe(0);
    time = 1_000;
    expect([secondsToWait('jane\na', 'clusters_list'), secondsToWait('jane\na', 'clusters_list')]).toEqual([0, 1]);
    time = 1_500;
    // Half a second is a second: a header has whole ones, and 0 would mean now.
    expect(secondsToWait('jane\na', 'clusters_list')).toBe(1);
    time = 6_000;
    expect(secondsToWait('jane\na', 'pass_request')).toBe(0);
  });
});

describe('MC-42: challenges', () => {
  const headerOf = (error: Parameters<typeof render>[0], hasCredential = true) => render(error, hasCredential);
  const render = (error: InsufficientScope | ReturnType<typeof unauthorized>, hasCredential: boolean) => {
    const answer = endpoint().render(hasCredential)({ type: 'status', error });
    return answer.type === 'raw' ? answer.headers['WWW-Authenticate'] : undefined;
  };

  it('name metadata and scopes, and never offline_access', () => {
    const metadata = 'resource_metadata="https://cp.example.com/.well-known/oauth-protected-resource/mcp"';
    expect(headerOf(unauthorized(), false)).toBe(`Bearer ${metadata}, scope="clusterpass:read"`);
    expect(headerOf(unauthorized())).toBe(`Bearer error="invalid_token", ${metadata}, scope="clusterpass:read"`);
    expect(headerOf(new InsufficientScope('pass_request', ['clusterpass:read', 'clusterpass:pass']))).toBe(
      `Bearer error="insufficient_scope", ${metadata}, scope="clusterpass:read clusterpass:pass"`,
    );
  });
});

describe('the endpoint', () => {
  it('is at the fleet, and not below a cluster', () => {
    const at = (path: string, cluster?: string) => isMcpPath({ type: 'path', verb: 'post', cluster, path });
    expect([at('/mcp'), at('/mcp', 'alpha'), at('/mcp/x'), at('/')]).toEqual([true, false, false, false]);
  });

  it.each([
    ['https://agent.example.com', true],
    ['https://agent.example.com.evil.example', false],
    ['https://agent.example.com:8443', false],
    ['http://agent.example.com', false],
    ['https://example.com', false],
    ['null', false],
    ['', false],
  ])('allows web pages of named origins only: %j', (origin, isAllowed) => {
    expect(endpoint().isAllowedOrigin(origin)).toBe(isAllowed);
  });

  it('RFC 9728: names itself as the resource that tokens are for', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp';
    const route = endpoint().routes({ type: 'path', verb: 'get', cluster: undefined, path });
    const answer = await route?.handle({} as never);
    expect(JSON.parse(String((answer as { body?: string } | undefined)?.body))).toMatchObject({
      resource: 'https://cp.example.com/mcp',
      authorization_servers: ['https://id.example.com'],
    });
  });
});
