import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { ORDER_TYPE, type OrderClaims } from '../api/connector.ts';
import { JWS_ALGORITHMS } from '../lib/jws-algorithms.ts';

interface VerifierParts {
  /** That of the connector's own tokens: the base URL of Clusterpass, and the name of the cluster. */
  readonly audience: string;
  /** `uid`: of the Cluster at Clusterpass. `id`: of the namespace kube-system. */
  readonly cluster: { readonly uid: string; readonly id: string };
  /** The JWKS of the cluster at Clusterpass. */
  readonly readKeys: () => Promise<JSONWebKeySet>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The clock of Clusterpass may be ahead. An order that has ended has ended, whatever the clocks. */
const SKEW_SECONDS = 60;
/** An unknown key makes it read the keys again, at most at this interval. */
const REFRESH_MS = 10_000;

/** Reads the claims of an order after all that makes it one for this cluster, now. Rejects for any other. */
export function createOrderVerifier({ audience, cluster, readKeys, now }: VerifierParts) {
  let keys: JWTVerifyGetKey | undefined;
  let readAt = 0;
  const keyOf: JWTVerifyGetKey = async (...token) => {
    try {
      if (keys !== undefined) return await keys(...token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || now() - readAt < REFRESH_MS) throw error;
    }
    readAt = now();
    keys = createLocalJWKSet(await readKeys());
    return keys(...token);
  };
  return async (name: string, jws: string): Promise<OrderClaims> => {
    const { payload } = await jwtVerify<OrderClaims>(jws, keyOf, {
      ...{ algorithms: [...JWS_ALGORITHMS], typ: ORDER_TYPE, audience, currentDate: new Date(now()) },
      requiredClaims: ['iat', 'exp', 'cluster', 'answerKey'],
    });
    const {
      jti,
      iat,
      cluster: { uid, id = cluster.id },
    } = payload;
    if (jti !== name) throw new Error('it has the name of another order');
    if (uid !== cluster.uid || id !== cluster.id) throw new Error('it is for another cluster');
    if (iat > now() / 1000 + SKEW_SECONDS) throw new Error('it is of the future: is the clock of this machine right?');
    return payload;
  };
}
