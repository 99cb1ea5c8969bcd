import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { call, expectEqual, expectSuccess, requestText } from './client.ts';
import { ACCOUNT, CALLER, HOME, NAMESPACE } from './cluster-fleet.ts';
import { requestFile } from './driver.ts';
import type { TokenSample } from './floor-process.ts';
import { tokenPath } from './objects.ts';
import { type FleetServer, startFleetServer } from './processes.ts';
import { type Account, type AskedToken, mixedRequests, type TokenFleetSize, tokenFleet } from './token-fleet.ts';

interface TokenResponse {
  readonly spec: { readonly audiences: readonly string[]; readonly expirationSeconds: number };
  readonly status: { readonly token: string };
}

const pathOf = ({ cluster, namespace, name }: Account): string => tokenPath(cluster, namespace, name);

const bodyOf = ({ audience, seconds }: AskedToken): object => ({
  spec: { audiences: [audience], expirationSeconds: seconds },
});

/** The text of a token request with this credential. */
const tokenText = (credential: string, account: Account, asked: AskedToken): string =>
  requestText('POST', pathOf(account), { token: credential, body: bodyOf(asked) });

/** A token that the service account uses as its credential. It is valid for a day, longer than any benchmark. */
async function credentialOf(server: FleetServer, account: Account): Promise<string> {
  const body = { spec: { audiences: [], expirationSeconds: 86_400 } };
  const response = await expectSuccess<TokenResponse>(call(server, 'POST', pathOf(account), { body }));
  return response.status.token;
}

/** Requests a token and verifies it: signature, issuer, subject, audience and lifetime. */
async function verifiedToken(
  server: FleetServer,
  credential: string,
  account: Account,
  asked: AskedToken,
): Promise<TokenSample> {
  const sent = { token: credential, body: bodyOf(asked) };
  const response = await expectSuccess<TokenResponse>(call(server, 'POST', pathOf(account), sent));
  const issuer = `/orchestrator/${account.cluster}`;
  const keys = await expectSuccess<JSONWebKeySet>(call(server, 'GET', `${issuer}/openid/v1/jwks`));
  const { token } = response.status;
  const wanted = { issuer: `${server.url}${issuer}`, audience: asked.audience };
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), wanted);
  expectEqual('subject', payload.sub, `system:serviceaccount:${account.namespace}:${account.name}`);
  expectEqual('audiences', payload.aud, [asked.audience]);
  expectEqual('lifetime', (payload.exp ?? 0) - (payload.iat ?? 0), asked.seconds);
  expectEqual('lifetime in the response', response.spec.expirationSeconds, asked.seconds);
  return { response, claims: decodeJwt(token) };
}

const BUILDER = { cluster: HOME, namespace: NAMESPACE, name: ACCOUNT };
const REQUESTER = { ...BUILDER, name: CALLER };
const ASKED = { audience: 'https://vault.example', seconds: 3600 };

/** A token request in a cluster fleet: one service account asks for a token of another. */
export async function oneAccountRequest(server: FleetServer): Promise<{ request: string; sample: TokenSample }> {
  const credential = await credentialOf(server, REQUESTER);
  const sample = await verifiedToken(server, credential, BUILDER, ASKED);
  return { request: tokenText(credential, BUILDER, ASKED), sample };
}

export interface TokenMix {
  readonly server: FleetServer;
  readonly requests: { readonly file: string };
}

/** Texts for the driver at most. More requests than this are sent in the order of the first again. */
const TEXTS = 40_000;
/** Requests whose tokens are verified before the measurement. */
const SAMPLE = 100;

/** Starts a server with this fleet, and writes the requests of its callers to a file of the driver. */
export async function startTokenMix(size: TokenFleetSize): Promise<TokenMix> {
  const server = await startFleetServer(tokenFleet(size));
  const requests = mixedRequests(size, Math.ceil(TEXTS / size.accounts)).slice(0, TEXTS);
  /** One request of each caller. */
  const byCaller = new Map(requests.map((request) => [request.caller, request]));
  const credentials = new Map<object, string>();
  for (const caller of byCaller.keys()) {
    const token = 'member' in caller ? caller.member.token : await credentialOf(server, caller.automation);
    credentials.set(caller, token);
  }
  const credential = (caller: object): string => credentials.get(caller) ?? '';
  for (const { caller, account, asked } of [...byCaller.values()].slice(0, SAMPLE)) {
    await verifiedToken(server, credential(caller), account, asked);
  }
  const texts = requests.map(({ caller, account, asked }) => tokenText(credential(caller), account, asked));
  return { server, requests: await requestFile(texts) };
}
