import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createIssuerKeys, type IssuerKeys } from './issuer-keys.ts';

const ISSUER = 'https://id.example.com';
const DISCOVERY = `${ISSUER}/.well-known/openid-configuration`;
const JWKS = `${ISSUER}/jwks`;

const jwk = (kid: string): object => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
  kid,
});
const [one, two] = [jwk('one'), jwk('two')];

let now: number;
let fetched: string[];
let signals: AbortSignal[];
/** Undefined: the keys were fetched again. */
let reports: (string | undefined)[];
let documents: Record<string, unknown>;
/** Runs while a document is being fetched. */
let meanwhile: () => Promise<void> | void;
let keys: IssuerKeys;

beforeEach(() => {
  now = 1_000_000;
  fetched = [];
  signals = [];
  reports = [];
  meanwhile = () => {};
  documents = { [DISCOVERY]: { issuer: ISSUER, jwks_uri: JWKS }, [JWKS]: { keys: [one] } };
  keys = createIssuerKeys({
    issuerUrl: ISSUER,
    discoveryUrl: DISCOVERY,
    fetchDocument: async (url, signal) => {
      fetched.push(url);
      signals.push(signal);
      await meanwhile();
      if (documents[url] === undefined) throw new Error(`${url}: answered with 503`);
      return documents[url];
    },
    now: () => now,
    report: (problem) => reports.push(problem),
  });
});

const kids = async (kid?: string): Promise<unknown[]> => (await keys.find(kid)).map((key) => key.kid);

describe('the keys of an issuer', () => {
  it('are fetched when first needed, through the discovery document, and kept', async () => {
    expect(await kids('one')).toEqual(['one']);
    expect(await kids('one')).toEqual(['one']);
    expect(await kids()).toEqual(['one']);
    expect(fetched).toEqual([DISCOVERY, JWKS]);
  });

  it('B9: an unknown key is looked up once in ten seconds, for all requests', async () => {
    await keys.refresh();
    fetched.length = 0;
    for (let time = 0; time < 1_000; time += 1) {
      now += 9;
      await Promise.all([kids(`unknown-${time}`), kids('__proto__')]);
    }
    // 9 seconds since the fetch of `refresh`.
    expect(fetched).toEqual([]);
    now += 1_000;
    documents[JWKS] = { keys: [one, two] };
    expect(await Promise.all([kids('two'), kids('two'), kids('nope')])).toEqual([['two'], ['two'], []]);
    expect(fetched).toEqual([DISCOVERY, JWKS]);
  });

  it('those who ask during a fetch share it', async () => {
    let asked: Promise<unknown[]> | undefined;
    meanwhile = async () => {
      await Promise.resolve();
      asked ??= kids('one');
    };
    await keys.refresh();
    expect(await asked).toEqual(['one']);
    expect(fetched).toEqual([DISCOVERY, JWKS]);
  });

  it('stay when they cannot be fetched again, and that is reported once', async () => {
    await keys.refresh();
    const [before] = await keys.find('one');
    expect(keys.isFailing()).toBe(false);
    documents = {};
    await keys.refresh();
    await keys.refresh();
    expect(await keys.find('one')).toEqual([before]);
    expect(reports).toEqual([`${DISCOVERY}: answered with 503`]);
    expect(keys.isFailing()).toBe(true);
  });

  it.each([
    ['no key', []],
    ['no key that can be used', [{ kty: 'oct', k: 'c2VjcmV0' }]],
  ])('are gone when the key set has %s, which is reported', async (_, published) => {
    await keys.refresh();
    documents[JWKS] = { keys: published };
    await keys.refresh();
    expect([keys.known(undefined), reports, keys.isFailing()]).toEqual([
      [],
      ['its key set has no key that can be used: none is accepted'],
      true,
    ]);
    documents[JWKS] = { keys: [one] };
    await keys.refresh();
    expect([keys.known('one').length, keys.isFailing()]).toEqual([1, false]);
  });

  it.each<[string, unknown]>([
    ['cannot be fetched', undefined],
    ['is no key set', { error: 'not found' }],
    ['has no list of keys', { keys: {} }],
  ])('stay when the key set %s', async (_, document) => {
    await keys.refresh();
    documents[JWKS] = document;
    await keys.refresh();
    expect([keys.known('one').length, keys.isFailing()]).toEqual([1, true]);
  });

  it('a key that is withdrawn is gone, also when another one is published under its id', async () => {
    const thumbprints = (): string[] => keys.known(undefined).map(({ thumbprint }) => thumbprint);
    documents[JWKS] = { keys: [one, two] };
    await keys.refresh();
    const [, second] = thumbprints();
    documents[JWKS] = { keys: [two] };
    await keys.refresh();
    expect(thumbprints()).toEqual([second]);
    documents[JWKS] = { keys: [jwk('two')] };
    await keys.refresh();
    expect(keys.known('two')).toHaveLength(1);
    expect(thumbprints()).not.toContain(second);
  });

  it('an issuer that never responded has no keys, and is asked again after ten seconds', async () => {
    documents = {};
    expect(await kids('one')).toEqual([]);
    expect(await kids('one')).toEqual([]);
    expect(fetched).toEqual([DISCOVERY]);
    documents = { [DISCOVERY]: { issuer: ISSUER, jwks_uri: JWKS }, [JWKS]: { keys: [one] } };
    now += 10_000;
    expect(await kids('one')).toEqual(['one']);
  });

  it.each<[string, unknown, unknown, RegExp]>([
    [
      'of another issuer',
      { issuer: 'https://evil.example.com', jwks_uri: JWKS },
      undefined,
      /of another issuer, "https:\/\/evil/,
    ],
    ['of an issuer with a slash', { issuer: `${ISSUER}/`, jwks_uri: JWKS }, undefined, /of another issuer/],
    ['without keys', { issuer: ISSUER }, undefined, /has no jwks_uri/],
    ['with keys over plain HTTP', { issuer: ISSUER, jwks_uri: 'http://127.0.0.1/jwks' }, undefined, /not an https URL/],
    ['with keys in a file', { issuer: ISSUER, jwks_uri: 'file:///etc/keys' }, undefined, /not an https URL/],
    ['that is no object', [], undefined, /not a JSON object/],
    ['whose keys are no list', undefined, { keys: {} }, /has no list of keys/],
    ['whose keys are too many', undefined, { keys: Array(101).fill(one) }, /more than 100 keys/],
    [
      'whose keys are of no use',
      undefined,
      { keys: [null, 7, { kty: 'oct', k: 'c2VjcmV0' }] },
      /no key that can be used/,
    ],
  ])('a discovery document %s is refused', async (_, discovery, jwks, message) => {
    if (discovery !== undefined) documents[DISCOVERY] = discovery;
    if (jwks !== undefined) documents[JWKS] = jwks;
    expect(await kids('one')).toEqual([]);
    expect(reports).toEqual([expect.stringMatching(message)]);
  });
});
