import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createOrderVerifier } from './verify-order.ts';

const NOW = Date.parse('2026-11-19T08:00:00Z');
const SECONDS = NOW / 1000;
const CLUSTER = { name: 'alpha', uid: 'cluster-uid', id: 'kube-system-uid' };
const ISSUER = 'https://clusterpass.example/orchestrator/alpha';
const AUDIENCE = 'https://clusterpass.example/connectors/alpha';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let published: JWK[];
let reads: number;

const [key, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);

const jwk = async ({ publicKey }: Pair, kid: string): Promise<JWK> => ({ ...(await exportJWK(publicKey)), kid });

async function verifier({ now = () => NOW } = {}) {
  published = [await jwk(key, 'k1')];
  reads = 0;
  const readKeys = async () => {
    reads++;
    return { keys: published };
  };
  return createOrderVerifier({ audience: AUDIENCE, cluster: CLUSTER, readKeys, now });
}

const CLAIMS = {
  ...{ iss: ISSUER, aud: AUDIENCE, jti: 'order-1', iat: SECONDS, exp: SECONDS + 15 },
  cluster: CLUSTER,
  answerKey: { kty: 'EC' },
};
const sign = (more: object = {}, { typ = 'clusterpass-order+jwt', pair = key, kid = 'k1' } = {}): Promise<string> =>
  new SignJWT({ ...CLAIMS, ...more }).setProtectedHeader({ alg: 'ES256', kid, typ }).sign(pair.privateKey);

describe('A54: an order', () => {
  it('is one of Clusterpass for this cluster, now', async () => {
    const verify = await verifier();
    expect(await verify('order-1', await sign())).toEqual(CLAIMS);
    const { id: _, ...withoutId } = CLUSTER;
    expect(await verify('order-1', await sign({ cluster: withoutId }))).toMatchObject({ cluster: withoutId });
    expect(reads).toBe(1);
  });

  it.each([
    ['for another connector', { aud: 'https://clusterpass.example/connectors/beta' }, 'unexpected "aud" claim value'],
    ['under another name', { jti: 'order-2' }, 'it has the name of another order'],
    ['for a former cluster', { cluster: { ...CLUSTER, uid: 'former' } }, 'it is for another cluster'],
    ['for another real cluster', { cluster: { ...CLUSTER, id: 'other' } }, 'it is for another cluster'],
    ['of no cluster', { cluster: undefined }, 'missing required "cluster" claim'],
    ['that has expired', { exp: SECONDS }, '"exp" claim timestamp check failed'],
    ['without an end', { exp: undefined }, 'missing required "exp" claim'],
    ['of the future', { iat: SECONDS + 61, exp: SECONDS + 76 }, 'it is of the future'],
    ['whose answer cannot be read', { answerKey: undefined }, 'missing required "answerKey" claim'],
  ])('%s is refused', async (_, more, problem) => {
    await expect((await verifier())('order-1', await sign(more))).rejects.toThrow(problem);
  });

  it('A57: of a clock that is a minute ahead is accepted', async () => {
    const verify = await verifier();
    expect(await verify('order-1', await sign({ iat: SECONDS + 60, exp: SECONDS + 75 }))).toMatchObject({
      aud: AUDIENCE,
    });
  });

  it('is no other type of token of the same issuer', async () => {
    const verify = await verifier();
    await expect(verify('order-1', await sign({}, { typ: 'JWT' }))).rejects.toThrow(
      'unexpected "typ" JWT header value',
    );
  });

  it('is signed by a published key', async () => {
    const verify = await verifier();
    await expect(verify('order-1', await sign({}, { pair: other }))).rejects.toThrow('signature verification failed');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await sign()).split('.')[1]}.`;
    await expect(verify('order-1', unsigned)).rejects.toThrow();
  });

  it('of a new key is accepted, and an unknown key makes it ask once in ten seconds', async () => {
    let now = NOW;
    const verify = await verifier({ now: () => now });
    const later = { exp: SECONDS + 100 };
    await verify('order-1', await sign(later));
    published = [await jwk(key, 'k1'), await jwk(other, 'k2')];
    const next = await sign(later, { pair: other, kid: 'k2' });
    await expect(verify('order-1', next)).rejects.toThrow('no applicable key');
    now += 10_000;
    expect(await verify('order-1', next)).toMatchObject({ jti: 'order-1' });
    expect(reads).toBe(2);
    await expect(verify('order-1', await sign(later, { kid: 'k3' }))).rejects.toThrow('no applicable key');
    expect(reads).toBe(2);
  });
});
