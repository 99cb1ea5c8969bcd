import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readKeyPair } from './key-pair-files.ts';
import { UnsafeFile } from './secret-file.ts';

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const ENCRYPTED = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }) as string;

const folder = mkdtempSync(join(tmpdir(), 'clusterpass-key-pair-'));

function files(cert: string, key: string, mode = 0o600): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  rmSync(keyFile, { force: true });
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode });
  return { certFile, keyFile };
}

const accept = (): void => {};

it('reads a certificate and its key', async () => {
  const { cert, key } = await readKeyPair(files(CERTIFICATE, KEY), accept);
  expect([String(cert), String(key)]).toEqual([CERTIFICATE, KEY]);
});

it.each([
  ['the two files swapped', KEY, CERTIFICATE, 'tls.crt holds no certificate in PEM.'],
  ['a key that is no PEM', CERTIFICATE, 'x', 'tls.key holds no private key in PEM.'],
  [
    'a key with a passphrase',
    CERTIFICATE,
    ENCRYPTED,
    'tls.key is encrypted: it has to be a private key without a passphrase.',
  ],
])('says what is wrong: %s', async (_, cert, key, message) => {
  await expect(readKeyPair(files(cert, key), accept)).rejects.toThrow(new UnsafeFile(`${folder}/${message}`));
});

it('says that others can read the key', async () => {
  await expect(readKeyPair(files(CERTIFICATE, KEY, 0o644), accept)).rejects.toThrow(/is open .* \(mode 0644\)/);
});

it.each([
  ['ERR_OSSL_X509_KEY_VALUES_MISMATCH', 'do not belong together: the certificate is of another key.'],
  ['ERR_OSSL_OTHER', 'cannot be used: too weak'],
])('says why TLS does not take the pair: %s', async (code, problem) => {
  const pair = files(CERTIFICATE, KEY);
  const refuse = (): never => {
    throw Object.assign(new Error('too weak'), { code });
  };
  const expected = `${pair.certFile} and ${pair.keyFile} ${problem}`;
  await expect(readKeyPair(pair, refuse)).rejects.toThrow(new UnsafeFile(expected));
});
