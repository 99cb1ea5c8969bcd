import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import { clientSettings } from './sign-in.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-sign-in-'));
});

const settings = (flags: Record<string, unknown>, last?: Parameters<typeof clientSettings>[2]) =>
  clientSettings({ ...fakeContext({}), cwd: folder }, new Invocation([], flags), last);

const LAST = {
  issuerUrl: 'https://id.example.com',
  clientId: 'old',
  clientSecret: 's3cret',
  issuerCertificateAuthority: 'PEM',
  scopes: 'groups',
};

describe('the settings of the provider', () => {
  it('come from flags, then from the last login', async () => {
    expect(await settings({})).toBeUndefined();
    expect(await settings({}, LAST)).toEqual(LAST);
    expect(await settings({ issuerUrl: 'https://flag', clientId: 'flag', scopes: 'a,b' }, LAST)).toEqual({
      issuerUrl: 'https://flag',
      clientId: 'flag',
      scopes: 'a,b',
    });
  });

  it('of one provider are not sent to another', async () => {
    expect(await settings({ issuerUrl: 'https://other', clientId: 'x' }, LAST)).toEqual({
      issuerUrl: 'https://other',
      clientId: 'x',
    });
    await expect(settings({ issuerUrl: 'https://other' }, LAST)).rejects.toThrow('--client-id is required');
  });

  it('include a secret and certificates from files', async () => {
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
    await expect(settings({ ...flags, clientSecretFile: 'none' })).rejects.toThrow('no such file');
    await expect(settings({ ...flags, issuerCertificateAuthority: 'secret' })).rejects.toThrow(
      'contains no PEM certificate',
    );
  });
});
