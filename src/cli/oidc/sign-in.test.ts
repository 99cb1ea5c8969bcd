import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import { timesOf } from './oidc-session.ts';
import { clientSettings } from './sign-in.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-sign-in-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const settings = (
  flags: Record<string, unknown>,
  env: Record<string, string> = {},
  last?: Parameters<typeof clientSettings>[2],
) => clientSettings({ ...fakeContext(env), cwd: folder }, new Invocation([], flags), last);

const LAST = {
  issuerUrl: 'https://id.example.com',
  clientId: 'old',
  clientSecret: 's3cret',
  issuerCertificateAuthority: 'PEM',
  scopes: 'groups',
};

describe('which provider is meant', () => {
  it('flags over variables over the last login', async () => {
    const env = { CLUSTERPASS_ISSUER_URL: 'https://env', CLUSTERPASS_CLIENT_ID: 'env' };
    expect(await settings({})).toBeUndefined();
    expect(await settings({}, {}, LAST)).toEqual(LAST);
    expect(await settings({}, env, LAST)).toEqual({ issuerUrl: 'https://env', clientId: 'env' });
    expect(await settings({ issuerUrl: 'https://flag', clientId: 'flag', scopes: 'a,b' }, env)).toEqual({
      issuerUrl: 'https://flag',
      clientId: 'flag',
      scopes: 'a,b',
    });
  });

  it('what belongs to one provider is not sent to another', async () => {
    expect(await settings({ issuerUrl: 'https://other', clientId: 'x' }, {}, LAST)).toEqual({
      issuerUrl: 'https://other',
      clientId: 'x',
    });
    await expect(settings({ issuerUrl: 'https://other' }, {}, LAST)).rejects.toThrow('--client-id is required');
  });

  it('the secret and the authorities are read from files', async () => {
    await writeFile(join(folder, 'secret'), 'hush\n');
    await writeFile(join(folder, 'ca'), '-----BEGIN CERTIFICATE-----\n');
    const flags = {
      issuerUrl: 'https://a',
      clientId: 'b',
      clientSecretFile: 'secret',
      issuerCertificateAuthority: 'ca',
    };
    expect(await settings(flags)).toMatchObject({
      clientSecret: 'hush',
      issuerCertificateAuthority: expect.stringContaining('BEGIN'),
    });
    await expect(settings({ ...flags, clientSecretFile: 'none' })).rejects.toThrow('there is no such file');
    await expect(settings({ ...flags, issuerCertificateAuthority: 'secret' })).rejects.toThrow('has no certificate');
  });
});

it('times are counted by our own clock, with a margin of a tenth or a minute', () => {
  const tokens = { idToken: '', refreshToken: undefined, subject: '', issuedAt: 1_000, expiresAt: 1_100 };
  expect(timesOf(tokens, 5_000_000)).toEqual({ refreshAt: 5_090_000, endsAt: 5_100_000 });
  expect(timesOf({ ...tokens, expiresAt: 1_000 + 86_400 }, 0)).toEqual({ refreshAt: 86_340_000, endsAt: 86_400_000 });
  expect(timesOf({ ...tokens, expiresAt: 0 }, 7)).toEqual({ refreshAt: 7, endsAt: 7 });
});
