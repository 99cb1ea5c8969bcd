import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { readCredentials } from './etcd-credentials.ts';

test('A1: an emptied file of authorities is refused, so that those in use stay', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'clusterpass-etcd-'));
  const caFile = join(dir, 'ca.crt');
  const read = () => readCredentials({ tls: { caFile }, user: undefined });
  await writeFile(caFile, createAuthority('etcd').cert);
  expect((await read()).tls?.ca.length).toBeGreaterThan(0);
  for (const content of ['', '\n', 'not a certificate']) {
    await writeFile(caFile, content);
    await expect(read()).rejects.toThrow('holds no certificate');
  }
});
