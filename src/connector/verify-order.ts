import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose';
import { ORDER_TYPE, type OrderClaims } from '../api/connector.ts';
import { isJsonObject, memberOf, parsedJson } from '../lib/json.ts';
import { JWS_ALGORITHMS } from '../lib/jws-algorithms.ts';

interface VerifierParts {
  /** The issuer of the cluster at Clusterpass. */
  readonly issuer: string;
  /** That of the connector's own tokens. */
  readonly audience: string;
  /** `uid`: of the Cluster at Clusterpass. `id`: of the namespace kube-system. */
  readonly cluster: { readonly name: string; readonly uid: string; readonly id: string };
  /** The JWKS of Clusterpass. */
  readonly readKeys: () => Promise<JSONWebKeySet>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The clock of Clusterpass may be ahead. An order that has ended has ended, whatever the clocks. */
const SKEW_SECONDS = 60;
/** An unknown key makes it read the keys again, at most at this interval. */
const REFRESH_MS = 10_000;
const OPTIONS = { algorithms: [...JWS_ALGORITHMS] };

/** Reads the claims of an order after all that makes it one for this cluster, now. Rejects for any other. */
export function createOrderVerifier({ issuer, audience, cluster, readKeys, now }: VerifierParts) {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let readAt = 0;
  const verify = async (jws: string): Promise<ReturnType<typeof compactVerify>> => {
    try {
      if (keys !== undefined) return await compactVerify(jws, keys, OPTIONS);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || now() - readAt < REFRESH_MS) throw error;
    }
    readAt = now();
    keys = createLocalJWKSet(await readKeys());
    return compactVerify(jws, keys, OPTIONS);
  };
  return async (name: string, jws: string): Promise<OrderClaims> => {
    const { payload, protectedHeader } = await verify(jws);
    const claims = parsedJson(new TextDecoder().decode(payload));
    const expected: [path: string, value: unknown][] = [
      ['iss', issuer],
      ['aud', audience],
      ['jti', name],
      ['cluster.name', cluster.name],
      ['cluster.uid', cluster.uid],
      ['cluster.id', memberOf(claims, 'cluster', 'id') === undefined ? undefined : cluster.id],
    ];
    const [other] = expected.find(([path, value]) => memberOf(claims, ...path.split('.')) !== value) ?? [];
    const [iat, exp] = ['iat', 'exp'].map((claim) => Number(memberOf(claims, claim))) as [number, number];
    const seconds = now() / 1000;
    const problem =
      (protectedHeader.typ !== ORDER_TYPE && 'it is another type of token') ||
      (other !== undefined && `its ${other} is another one`) ||
      (!(iat <= seconds + SKEW_SECONDS) && 'it is of the future: is the clock of this machine right?') ||
      (!(exp > seconds) && 'it has expired: is the clock of this machine right?') ||
      (!isJsonObject(memberOf(claims, 'answerKey')) && 'it has no key for the answer');
    if (problem !== false) throw new Error(problem);
    return claims as unknown as OrderClaims;
  };
}
