import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../../../src/clusters/upstream/certificates.fixture.ts';
import { type Etcd, startEtcd } from '../../conformance/etcd-process.ts';

export interface EtcdWithTls extends Etcd {
  /** Writes the files that the pages name: etcd-ca.crt, etcd-client.crt, etcd-client.key. */
  writeClientFiles(folder: string): void;
}

/** An etcd that only clients with a certificate can use. */
export async function startEtcdWithTls(): Promise<EtcdWithTls> {
  const authority = createAuthority('CA of etcd');
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-etcd-tls-'));
  const server = authority.issue({ commonName: 'etcd', names: ['127.0.0.1'] });
  const [ca, cert, key] = ['ca.crt', 'server.crt', 'server.key'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(ca, authority.cert);
  writeFileSync(cert, server.cert);
  writeFileSync(key, server.key, { mode: 0o600 });
  const etcd = await startEtcd({
    scheme: 'https',
    args: ['--cert-file', cert, '--key-file', key, '--client-cert-auth', '--trusted-ca-file', ca],
  });
  return {
    ...etcd,
    writeClientFiles(target) {
      const client = authority.issue({ commonName: 'clusterpass', names: ['127.0.0.1'] });
      writeFileSync(join(target, 'etcd-ca.crt'), authority.cert);
      writeFileSync(join(target, 'etcd-client.crt'), client.cert);
      writeFileSync(join(target, 'etcd-client.key'), client.key, { mode: 0o600 });
    },
    async destroy() {
      await etcd.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
