import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setUpEtcd } from '../../scripts/setup-etcd.mjs';
import { openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';
import { seedEtcdRevision } from '../../src/storage/etcd/store-meta.ts';
import { freePorts, startEtcd } from '../../test/conformance/etcd-process.ts';
import { type Fleet, fillStore } from './fleet.ts';
import { atEnd, type FleetServer, makeFolder, startServerOn } from './processes.ts';

/** The largest database that etcd recommends. */
const QUOTA = `--quota-backend-bytes=${8 * 1024 ** 3}`;

/** Starts one member of etcd. Returns a function that starts Clusterpass with a fleet in a new prefix of it. */
export async function startEtcdFleets(): Promise<(fleet: Fleet) => Promise<FleetServer>> {
  setUpEtcd();
  const etcd = await startEtcd({ args: [QUOTA] });
  atEnd(() => etcd.destroy());
  const access = { endpoints: etcd.endpoints };
  let fleets = 0;
  return async (fleet) => {
    const prefix = `/fleet-${++fleets}`;
    const target = {
      open: async () => (await openEtcdStore({ ...access, prefix })).store,
      seedRevision: (revision: number) => seedEtcdRevision(access, prefix, revision),
    };
    await fillStore(target, fleet);
    const dataDir = join(await makeFolder(), 'data');
    await mkdir(dataDir, { mode: 0o700 });
    const keyFile = join(dataDir, 'encryption.key');
    await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
    // Replicas must agree on the issuer of tokens, so it cannot be a port that the system chooses.
    const [port] = await freePorts(1);
    const address = ['--listen', `127.0.0.1:${port}`, '--base-url', `https://127.0.0.1:${port}`];
    const store = ['--store', `etcd://${etcd.endpoints.join(',')}${prefix}`, '--encryption-key-file', keyFile];
    return startServerOn(dataDir, fleet.callers, { serveArgs: [...address, ...store] });
  };
}
