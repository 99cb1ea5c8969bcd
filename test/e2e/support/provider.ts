import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { CompactSign } from 'jose';
import { Provider } from 'oidc-provider';
import { expect, vi } from 'vitest';
import { type Server as ClusterpassServer, TLS } from './server.ts';
import { distrust, trust } from './trust.ts';

/** A real identity provider on loopback, over TLS. Every name can sign in, with any password. */
export interface IdentityProvider {
  readonly url: string;
  /** The origin of its token endpoint. */
  readonly tokensAt: string;
  readonly ca: string;
  /** Method and path of every request, in order. */
  readonly requests: string[];
  /** The tokens that clients have revoked, in order. */
  readonly revoked: string[];
  /** A token that the provider signs, with these changes. */
  sign(claims: object, header?: object): Promise<string>;
  /** As a person in a browser: signs in, consents, and follows the redirects. Returns the last page. */
  visit(url: string, user: string): Promise<string>;
  /** Whether the token endpoint refuses every request from now on. */
  refuseTokens(refuses: boolean): void;
  /** Stops answering, without closing a connection. */
  hang(): void;
  close(): Promise<void>;
}

export const CLIENT_ID = 'clusterpass';
const KID = 'provider-key';

export interface ProviderOptions {
  readonly idTokenSeconds?: number;
  /** The token endpoint has another origin than the issuer. */
  readonly tokensElsewhere?: boolean;
  /** By user name. Other users are in no group. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
}

export async function startProvider({
  idTokenSeconds = 3600,
  tokensElsewhere = false,
  groups = {},
}: ProviderOptions = {}): Promise<IdentityProvider> {
  const [cert, key, ca] = await Promise.all(
    [TLS.certFile, TLS.keyFile, TLS.caFile].map((file) => readFile(file, 'utf8')),
  );
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const requests: string[] = [];
  const revoked: string[] = [];
  const sockets = new Set<Socket>();
  let isHanging = false;
  let refusesTokens = false;
  let answer: RequestListener = () => {};
  const listen = async (): Promise<{ server: Server; url: string }> => {
    const server = createServer({ cert: cert ?? '', key: key ?? '' }, (request, response) => {
      const line = `${request.method} ${new URL(request.url ?? '', 'https://x').pathname}`;
      requests.push(line);
      if (refusesTokens && line === 'POST /token') {
        response.writeHead(400, { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' });
        response.end('{"error":"invalid_grant"}');
      } else if (!isHanging) answer(request, response);
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const { server, url } = await listen();
  const elsewhere = tokensElsewhere ? await listen() : undefined;
  trust(url, ca ?? '');

  const provider = new Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/console/'],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    // CORS: pages may call it, as providers allow for the clients that they know.
    clientBasedCORS: () => true,
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: KID, alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: { deviceFlow: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: true } },
    scopes: ['openid', 'offline_access', 'groups'],
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: Object.hasOwn(groups, id) ? groups[id] : [] }),
    }),
    rotateRefreshToken: true,
    ttl: {
      IdToken: idTokenSeconds,
      AccessToken: 3600,
      RefreshToken: 3600,
      Grant: 3600,
      Session: 3600,
      Interaction: 600,
      DeviceCode: 600,
      AuthorizationCode: 60,
    },
  });
  // By default a client of the device flow polls every five seconds.
  provider.use(async (context, next) => {
    await next();
    if (context.path === '/token/revocation') revoked.push(context.oidc?.params?.token ?? '');
    if (context.path === '/device/auth') context.body = { ...(context.body as object), interval: 1 };
    if (context.path === '/.well-known/openid-configuration' && elsewhere !== undefined) {
      context.body = { ...(context.body as object), token_endpoint: `${elsewhere.url}/token` };
    }
  });
  answer = provider.callback();

  return {
    url,
    tokensAt: elsewhere?.url ?? url,
    ca: ca ?? '',
    requests,
    revoked,
    refuseTokens: (refuses) => {
      refusesTokens = refuses;
    },
    sign: (claims, header = {}) =>
      new CompactSign(
        Buffer.from(JSON.stringify({ iss: url, aud: CLIENT_ID, exp: Date.now() / 1000 + 600, ...claims })),
      )
        .setProtectedHeader({ alg: 'ES256', kid: KID, ...header })
        .sign(privateKey),
    visit: (address, user) => visit(address, user),
    hang: () => {
      isHanging = true;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      const servers = elsewhere === undefined ? [server] : [server, elsewhere.server];
      await Promise.all(servers.map((each) => Promise.all([once(each, 'close'), each.close()])));
      distrust(url);
    },
  };
}

const MAX_PAGES = 30;

async function visit(address: string, user: string): Promise<string> {
  const cookies = new Map<string, string>();
  let next: { readonly url: string; readonly body?: URLSearchParams } = { url: address };
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const response = await fetch(next.url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '), accept: 'text/html' },
      ...(next.body === undefined ? {} : { method: 'POST', body: next.body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    const text = await response.text();
    if (location !== null) {
      next = { url: new URL(location, next.url).href };
      continue;
    }
    const form = formIn(text, user);
    if (form === undefined) return text;
    next = { url: new URL(form.action, next.url).href, body: form.fields };
  }
  throw new Error(`no end after ${MAX_PAGES} pages, the last at ${next.url}`);
}

function formIn(html: string, user: string): { action: string; fields: URLSearchParams } | undefined {
  const [, attributes = '', inside = ''] = /<form([^>]*)>([\s\S]*?)<\/form>/.exec(html) ?? [];
  const action = /action="([^"]+)"/.exec(attributes)?.[1];
  if (action === undefined) return undefined;
  const fields = new URLSearchParams();
  for (const [, input = ''] of inside.matchAll(/<input([^>]*)>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) fields.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? user);
  }
  return { action, fields };
}

/** The file of a shared server's identity providers. */
export const authenticationFileOf = ({ dataDir }: { readonly dataDir: string }): string =>
  join(dataDir, 'authentication.json');

/** Replaces the identity providers of a shared server, which fetches the keys of each when it has read the file. */
export async function acceptTokens(
  server: ClusterpassServer,
  providers: readonly IdentityProvider[],
  config = authenticationConfig(providers),
): Promise<void> {
  await writeFile(authenticationFileOf(server), config, { mode: 0o600 });
  await vi.waitFor(() => expect(providers.every(({ requests }) => requests.length > 0)).toBe(true), {
    timeout: 60_000,
  });
}

/** kube-apiserver's file for these providers. */
export const authenticationConfig = (
  providers: readonly Pick<IdentityProvider, 'url' | 'ca'>[],
  more: object = {},
): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: providers.map(({ url, ca }) => ({
      issuer: { url, certificateAuthority: ca, audiences: [CLIENT_ID] },
      claimMappings: { username: { claim: 'sub', prefix: 'id:' }, groups: { claim: 'groups', prefix: 'id:' } },
      ...more,
    })),
  });
