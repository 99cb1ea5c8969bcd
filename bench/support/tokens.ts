import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { type CallTarget, call, expectEqual, expectSuccess, requestText } from './client.ts';
import { ACCOUNT, CALLER, HOME, NAMESPACE } from './cluster-fleet.ts';
import type { TokenSample } from './floor-process.ts';
import { tokenPath } from './objects.ts';
import type { Account, AskedToken } from './token-fleet.ts';

interface TokenResponse {
  readonly spec: { readonly audiences: readonly string[]; readonly expirationSeconds: number };
  readonly status: { readonly token: string };
}

const pathOf = ({ cluster, namespace, name }: Account): string => tokenPath(cluster, namespace, name);

const bodyOf = ({ audience, seconds }: AskedToken): object => ({
  spec: { audiences: [audience], expirationSeconds: seconds },
});

/** The text of a token request with this credential. */
export const tokenText = (credential: string, account: Account, asked: AskedToken): string =>
  requestText('POST', pathOf(account), { token: credential, body: bodyOf(asked) });

/** A token that the service account uses as its credential. It is valid for a day, longer than any benchmark. */
export async function credentialOf(server: CallTarget, account: Account): Promise<string> {
  const body = { spec: { audiences: [], expirationSeconds: 86_400 } };
  const response = await expectSuccess<TokenResponse>(call(server, 'POST', pathOf(account), { body }));
  return response.status.token;
}

/** Requests a token and verifies it: signature, issuer, subject, audience and lifetime. */
export async function verifiedToken(
  server: CallTarget,
  credential: string,
  account: Account,
  asked: AskedToken,
): Promise<TokenSample> {
  const sent = { token: credential, body: bodyOf(asked) };
  const response = await expectSuccess<TokenResponse>(call(server, 'POST', pathOf(account), sent));
  const issuer = `/orchestrator/${account.cluster}`;
  const keys = await expectSuccess<JSONWebKeySet>(call(server, 'GET', `${issuer}/openid/v1/jwks`));
  const { token } = response.status;
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
    issuer: `${server.url}${issuer}`,
    audience: asked.audience,
  });
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
export async function oneAccountRequest(server: CallTarget): Promise<{ request: string; sample: TokenSample }> {
  const credential = await credentialOf(server, REQUESTER);
  const sample = await verifiedToken(server, credential, BUILDER, ASKED);
  return { request: tokenText(credential, BUILDER, ASKED), sample };
}
