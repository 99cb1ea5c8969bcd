import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { CliError } from '../command.ts';
import { findProvider, refresh } from './provider-client.ts';
import { signInWithBrowser } from './sign-in-flows.ts';

/** A provider that lies, and another server that it would like to have the requests of the client. */

type Answer = { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: string | object };

const CLIENT = 'clusterpass';
const MEGABYTE = 1024 * 1024;
const context = fakeContext({});

let answers: { discovery: (document: object) => Answer; token: (claims: object) => Answer };
let requests: string[];
let bodies: string[];
let nonce: string;

const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listening = (server: Server): Promise<void> => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const idToken = (claims: object, header: object = { alg: 'RS256' }): string =>
  `${encode(header)}.${encode(claims)}.${'A'.repeat(342)}`;
const tokens = (token: string): Answer => ({
  body: { access_token: 'canary-access', token_type: 'Bearer', id_token: token, refresh_token: 'canary-refresh' },
});

async function serve(request: IncomingMessage): Promise<Answer> {
  const path = new URL(request.url ?? '', issuer).pathname;
  requests.push(`${request.method} ${path}`);
  bodies.push(await text(request));
  if (path === '/.well-known/openid-configuration') {
    return answers.discovery({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      authorization_response_iss_parameter_supported: true,
    });
  }
  const seconds = Math.floor(Date.now() / 1000);
  return answers.token({ iss: issuer, aud: CLIENT, sub: 'jane', iat: seconds, exp: seconds + 600, nonce });
}

const provider = createServer(async (request, response) => {
  const { status = 200, headers = {}, body = {} } = await serve(request);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
});
const elsewhere = createServer((request, response) => {
  requests.push(`elsewhere ${request.method} ${request.url}`);
  response.end('{}');
});
await Promise.all([listening(provider), listening(elsewhere)]);
const [issuer, other] = [addressOf(provider), addressOf(elsewhere)];
beforeEach(() => {
  answers = { discovery: (document) => ({ body: document }), token: (claims) => tokens(idToken(claims)) };
  [requests, bodies] = [[], []];
  context.written.err = '';
});
afterAll(() => {
  for (const server of [provider, elsewhere]) server.close();
});

const settings = () => ({ issuerUrl: issuer, clientId: CLIENT });

/** Signs in, with a browser that goes back with these parameters. */
async function signIn(respond: (parameters: URLSearchParams) => void = () => {}) {
  const client = await findProvider(settings(), { env: {} });
  const signal = new AbortController().signal;
  const result = signInWithBrowser(context, client, { port: 0, browser: false, signal });
  // A rejection is awaited below.
  result.catch(() => {});
  await expect.poll(() => context.written.err, { interval: 5 }).toContain('/auth?');
  const sent = new URL(/^ {2}(http:\S+)$/m.exec(context.written.err)?.[1] ?? '').searchParams;
  nonce = sent.get('nonce') ?? '';
  const parameters = new URLSearchParams({ code: 'code', state: sent.get('state') ?? '', iss: issuer });
  respond(parameters);
  const page = await fetch(`${sent.get('redirect_uri')}?${parameters}`);
  return { result, page: await page.text() };
}

/** The message of a failed sign-in, which must not hold a token. */
async function refusalOf(task: Promise<unknown>): Promise<string> {
  const error = await task.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CliError);
  const { message } = error as CliError;
  for (const secret of ['canary', 'eyJ', nonce || 'no nonce']) expect(message).not.toContain(secret);
  expect(message.length).toBeLessThan(2_000);
  expect(requests.filter((line) => line.startsWith('elsewhere'))).toEqual([]);
  return message;
}

it('an honest provider signs in, with PKCE', async () => {
  const { result, page } = await signIn();
  expect(await result).toMatchObject({ session: { subject: 'jane', refreshToken: 'canary-refresh' } });
  expect(page).toContain('Signed in.');
  expect(bodies.at(-1)).toMatch(/code_verifier=[\w-]{43}/);
});

describe('A46: a discovery document that', () => {
  it.each<[string, (document: object) => Answer]>([
    ['names another issuer', (document) => ({ body: { ...document, issuer: other } })],
    ['is elsewhere', () => ({ status: 302, headers: { location: `${other}/.well-known/openid-configuration` } })],
    ['is larger than a megabyte', (document) => ({ body: { ...document, more: 'x'.repeat(MEGABYTE) } })],
    ['is a page', () => ({ headers: { 'content-type': 'text/html' }, body: '<script>' })],
    ['is no JSON', () => ({ body: '{' })],
    ['is a list', () => ({ body: [] })],
  ])('%s ends the sign-in before a browser is opened', async (_, discovery) => {
    answers.discovery = discovery;
    await refusalOf(findProvider(settings(), { env: {} }));
    expect(context.written.err).toBe('');
  });
});

it('a discovery document without an endpoint that a sign-in needs is an error that names it', async () => {
  for (const missing of ['authorization_endpoint', 'token_endpoint']) {
    answers.discovery = (document) => ({ body: { ...document, [missing]: undefined } });
    const client = findProvider(settings(), { env: {} });
    const signal = new AbortController().signal;
    const result = client.then((found) => signInWithBrowser(context, found, { port: 0, browser: false, signal }));
    expect(await refusalOf(result)).toBe(
      `the metadata of ${new URL(issuer).host} has no ${missing}, which a sign-in needs`,
    );
    expect(context.written.err).toBe('');
  }
});

describe('A46: an authorization response', () => {
  it.each<[string, (parameters: URLSearchParams) => void]>([
    ['of another provider (mix-up)', (parameters) => parameters.set('iss', other)],
    ['without the issuer that the provider promises', (parameters) => parameters.delete('iss')],
    ['with two codes', (parameters) => parameters.append('code', 'second')],
    ['with two states', (parameters) => parameters.append('state', 'second')],
    ['with an error beside the code', (parameters) => parameters.set('error', 'access_denied')],
    ['without a code', (parameters) => parameters.delete('code')],
  ])('%s sends no code', async (_, respond) => {
    const { result, page } = await signIn(respond);
    await refusalOf(result);
    expect(page).toContain('The sign-in failed.');
    expect(requests).not.toContain('POST /token');
  });
});

describe('A46: a token response', () => {
  it.each<[string, (claims: object) => Answer]>([
    ['with another nonce', (claims) => tokens(idToken({ ...claims, nonce: 'other' }))],
    ['without a nonce', (claims) => tokens(idToken({ ...claims, nonce: undefined }))],
    ['of another issuer', (claims) => tokens(idToken({ ...claims, iss: other }))],
    ['for another client', (claims) => tokens(idToken({ ...claims, aud: 'other' }))],
    ['for two clients without azp', (claims) => tokens(idToken({ ...claims, aud: [CLIENT, 'other'] }))],
    ['for two clients, by another', (claims) => tokens(idToken({ ...claims, aud: [CLIENT, 'other'], azp: 'other' }))],
    ['that has expired', (claims) => tokens(idToken({ ...claims, exp: 1 }))],
    ['without an expiry', (claims) => tokens(idToken({ ...claims, exp: undefined }))],
    ['without a subject', (claims) => tokens(idToken({ ...claims, sub: undefined }))],
    ['with a subject that is no text', (claims) => tokens(idToken({ ...claims, sub: { toString: 1 } }))],
    ['with alg none', (claims) => tokens(idToken(claims, { alg: 'none' }))],
    ['with alg HS256', (claims) => tokens(idToken(claims, { alg: 'HS256' }))],
    ['with a critical header', (claims) => tokens(idToken(claims, { alg: 'RS256', crit: ['x'], x: 1 }))],
    ['that is no JWT', () => tokens('canary')],
    ['without an ID token', () => ({ body: { access_token: 'canary-access', token_type: 'Bearer' } })],
    ['of more than a megabyte', (claims) => tokens(idToken({ ...claims, groups: 'x'.repeat(MEGABYTE) }))],
    ['that redirects', () => ({ status: 307, headers: { location: `${other}/token` } })],
    ['that is a page', () => ({ headers: { 'content-type': 'text/html' }, body: '<script>' })],
    ['that is a list', () => ({ body: [] })],
    [
      'with an error that has escape sequences',
      () => ({ status: 400, body: { error: 'x', error_description: '\u001b]0;pwned\u0007' } }),
    ],
  ])('%s ends the sign-in', async (_, token) => {
    answers.token = token;
    const { result, page } = await signIn();
    const message = await refusalOf(result);
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(page).toContain('The sign-in failed.');
  });

  it('A46: a refresh is checked as a sign-in is', async () => {
    nonce = '';
    for (const change of [{ iss: other }, { aud: 'other' }, { exp: 1 }, { sub: undefined }]) {
      answers.token = (claims) => tokens(idToken({ ...claims, nonce: undefined, ...change }));
      await refusalOf(refresh(settings(), 'canary-refresh', Date.now(), { env: {} }));
    }
  });
});
