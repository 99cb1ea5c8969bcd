import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { call, expectEqual, must, requestText } from './support/client.ts';
import { compareRequests, type Settings } from './support/compare.ts';
import { ACCOUNT, HOME, NAMESPACE } from './support/fleet.ts';
import { type Desk, Driver, startDesk, startFloor } from './support/processes.ts';
import type { Report } from './support/report.ts';

const IN_HOME = `/orchestrator/${HOME}`;
const TOKENS = `${IN_HOME}/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
const BODY = { spec: { audiences: ['https://vault.example'] } };

interface TokenAnswer {
  readonly spec: { readonly audiences: readonly string[] };
  readonly status: { readonly token: string };
}

/** A token for the service account that asks for tokens; good for as long as a benchmark lasts. */
export async function callerToken(desk: Desk): Promise<string> {
  const body = { spec: { audiences: [], expirationSeconds: 86_400 } };
  return (await must<TokenAnswer>(call(desk, 'POST', `${TOKENS}/caller/token`, { body }))).status.token;
}

export const tokenRequest = (token: string): string =>
  requestText('POST', `${TOKENS}/${ACCOUNT}/token`, { token, body: BODY });

/** The answer is looked at first: a token that nobody accepts is quickly made. */
async function checked(desk: Desk, token: string): Promise<Buffer> {
  const answer = await must<TokenAnswer>(call(desk, 'POST', `${TOKENS}/${ACCOUNT}/token`, { token, body: BODY }));
  const keys = await must<JSONWebKeySet>(call(desk, 'GET', `${IN_HOME}/openid/v1/jwks`));
  const issued = answer.status.token;
  const { payload } = await jwtVerify(issued, createLocalJWKSet(keys), {
    issuer: `${desk.url}${IN_HOME}`,
    audience: BODY.spec.audiences,
  });
  expectEqual('subject', payload.sub, `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`);
  return Buffer.from(JSON.stringify({ answer, claims: decodeJwt(issued) }));
}

export async function benchToken(settings: Settings): Promise<Report> {
  const desk = await startDesk({ clusters: 1_000, bindings: 1_000 });
  const token = await callerToken(desk);
  const floor = await startFloor('token', await checked(desk, token));
  const row = await compareRequests(
    { name: 'token', unit: 'tokens', goal: { share: 0.8 } },
    {
      driver: new Driver(),
      desk,
      floor,
      work: { request: [tokenRequest(token)], connections: 16 },
      settings,
      // The compiler goes on for thousands of requests, in threads whose time counts.
      warmUp: 30_000,
    },
  );
  return { rows: [row] };
}
