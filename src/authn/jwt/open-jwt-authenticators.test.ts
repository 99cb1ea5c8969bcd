import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompactSign } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '../../observability/secret.ts';
import { type JwtAuthenticators, openJwtAuthenticators } from './open-jwt-authenticators.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let folder: string;
let file: string;
let reports: string[];
let keyReports: (readonly [issuer: string, problem: string | undefined])[];
let down: string | undefined;
let timers: Set<() => void>;
let fetched: string[];
let now: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-jwt-'));
  file = join(folder, 'authentication.yaml');
  reports = [];
  keyReports = [];
  down = undefined;
  fetched = [];
  now = 0;
  timers = new Set();
});

const issuer = (name: string): string => `https://${name}.example.com`;

const write = (names: readonly string[], { audience = 'clusterpass', more = '' } = {}): Promise<void> =>
  writeFile(
    file,
    `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n${more}jwt:\n${names
      .map(
        (name) => `- issuer: {url: "${issuer(name)}", audiences: [${audience}]}
  claimMappings: {username: {claim: sub, prefix: "${name}:"}}\n`,
      )
      .join('')}`,
  );

const open = (): Promise<JwtAuthenticators> =>
  openJwtAuthenticators({
    file,
    isOurs: () => false,
    createFetch: () => async (url) => {
      fetched.push(url);
      const { origin } = new URL(url);
      if (origin === down) throw new Error('connect ECONNREFUSED');
      return url.endsWith('/jwks')
        ? { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] }
        : { issuer: origin, jwks_uri: `${origin}/jwks` };
    },
    now: Date.now,
    every: (_, task) => {
      timers.add(task);
      return () => timers.delete(task);
    },
    report: (problem) => reports.push(problem),
    reportKeys: (...report) => keyReports.push(report),
    monotonicNow: () => now,
  });

async function tokenOf(name: string): Promise<Secret> {
  const claims = { iss: issuer(name), aud: 'clusterpass', sub: 'jane', exp: Date.now() / 1000 + 3600 };
  const jws = new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader({ alg: 'ES256', kid: 'k' });
  return new Secret(await jws.sign(privateKey));
}

const nameOf = async (authenticators: JwtAuthenticators, name: string): Promise<string | undefined> =>
  (await authenticators.authenticateToken(await tokenOf(name)))?.as(undefined).name;

describe('the authentication configuration', () => {
  it('the issuer in a token selects its authenticator; a token of no configured issuer is left to others', async () => {
    await write(['one', 'two']);
    const authenticators = await open();
    expect(await nameOf(authenticators, 'one')).toBe('one:jane');
    expect(await nameOf(authenticators, 'two')).toBe('two:jane');
    expect(await nameOf(authenticators, 'three')).toBeUndefined();
    expect(await authenticators.authenticateToken(new Secret('opaque'))).toBeUndefined();
  });

  it('a bad one is refused at the start, by name', async () => {
    await write(['one'], { more: 'jtw: []\n' });
    await expect(open()).rejects.toThrow(`--authentication-config ${file}: `);
    await expect(open()).rejects.toThrow('unknown field "jtw"');
    await rm(file);
    await expect(open()).rejects.toThrow(`--authentication-config ${file} cannot be read`);
    expect(timers.size).toBe(0);
  });

  it('A1: one that is gone takes its issuers along after a minute', async () => {
    await write(['one']);
    const authenticators = await open();
    const caller = await authenticators.authenticateToken(await tokenOf('one'));
    await rm(file);
    await authenticators.refresh();
    expect([caller?.isLive(), authenticators.isGone()]).toEqual([true, false]);
    now = 60_000;
    await authenticators.refresh();
    expect([caller?.isLive(), authenticators.isGone()]).toEqual([false, true]);
    expect(await nameOf(authenticators, 'one')).toBeUndefined();
    await write(['one']);
    await authenticators.refresh();
    expect([await nameOf(authenticators, 'one'), authenticators.isGone()]).toEqual(['one:jane', false]);
  });

  it('a change is applied; entries that did not change keep their callers', async () => {
    await write(['one', 'two']);
    const authenticators = await open();
    const [one, two] = [
      await authenticators.authenticateToken(await tokenOf('one')),
      await authenticators.authenticateToken(await tokenOf('two')),
    ];
    fetched.length = 0;
    await write(['three', 'two']);
    await authenticators.refresh();
    expect([one?.isLive(), two?.isLive()]).toEqual([false, true]);
    expect(await nameOf(authenticators, 'one')).toBeUndefined();
    expect(await nameOf(authenticators, 'three')).toBe('three:jane');
    expect(fetched.every((url) => url.startsWith(issuer('three')))).toBe(true);
    await write(['three', 'two'], { audience: 'elsewhere' });
    await authenticators.refresh();
    expect(two?.isLive()).toBe(false);
    await expect(nameOf(authenticators, 'two')).rejects.toThrow('audience');
  });

  it('A1: a bad change is reported, and what was read before stays for a minute', async () => {
    await write(['one']);
    const authenticators = await open();
    const caller = await authenticators.authenticateToken(await tokenOf('one'));
    await write(['one', 'one']);
    await authenticators.refresh();
    await authenticators.refresh();
    expect(reports).toEqual([
      expect.stringMatching(/jwt\[1\]\.issuer\.url: duplicate value: .*; its previous content stays/),
    ]);
    expect(caller?.isLive()).toBe(true);
    expect(await nameOf(authenticators, 'one')).toBe('one:jane');
    now = 60_000;
    await authenticators.refresh();
    expect([caller?.isLive(), authenticators.isGone()]).toEqual([false, true]);
  });

  it('A1: an emptied file withdraws its issuers at once, and says so', async () => {
    await write(['one']);
    const authenticators = await open();
    const caller = await authenticators.authenticateToken(await tokenOf('one'));
    await writeFile(file, '');
    await authenticators.refresh();
    expect(caller?.isLive()).toBe(false);
    expect(reports).toEqual([expect.stringContaining('has no issuers')]);
  });

  it('an issuer that does not answer is reported by its URL, and the others are not affected', async () => {
    await write(['one', 'two']);
    down = issuer('two');
    const authenticators = await open();
    await expect(nameOf(authenticators, 'two')).rejects.toThrow('could not be fetched');
    expect(await nameOf(authenticators, 'one')).toBe('one:jane');
    expect(keyReports).toEqual([[issuer('two'), 'connect ECONNREFUSED']]);
    expect(authenticators.failingIssuers()).toEqual({ [issuer('one')]: false, [issuer('two')]: true });
    expect(reports).toEqual([]);
  });
});
