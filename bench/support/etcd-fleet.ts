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

/** Starts one replica with a fleet in a new prefix of one etcd. */
type StartEtcdFleet = (fleet: Fleet) => Promise<FleetServer>;

/** Starts so many replicas with a fleet in a new prefix of one etcd. The first is the issuer of tokens. */
type StartReplicas = (fleet: Fleet, count: number) => Promise<FleetServer[]>;

/** Starts one member of etcd. Returns a function that starts Clusterpass with a fleet in a new prefix of it. */
export async function startEtcdFleets(): Promise<StartEtcdFleet> {
  const startReplicas = await startEtcdReplicas();
  return async (fleet) => (await startReplicas(fleet, 1))[0] as FleetServer;
}

/** Starts one member of etcd. Returns a function that starts several replicas with a fleet in a new prefix of it. */
export async function startEtcdReplicas(): Promise<StartReplicas> {
  setUpEtcd();
  const etcd = await startEtcd({ args: [QUOTA] });
  atEnd(() => etcd.destroy());
  const access = { endpoints: etcd.endpoints };
  let fleets = 0;
  return async (fleet, count) => {
    const prefix = `/fleet-${++fleets}`;
    const target = {
      open: async () => (await openEtcdStore({ ...access, prefix })).store,
      seedRevision: (revision: number) => seedEtcdRevision(access, prefix, revision),
    };
    await fillStore(target, fleet);
    const keyFile = join(await makeFolder(), 'encryption.key');
    await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
    // Replicas must agree on the issuer of tokens, so it cannot be a port that the system chooses.
    const ports = await freePorts(count);
    const shared = ['--base-url', `https://127.0.0.1:${ports[0]}`, '--encryption-key-file', keyFile];
    const store = ['--store', `etcd://${etcd.endpoints.join(',')}${prefix}`];
    const servers: FleetServer[] = [];
    for (const port of ports) {
      const dataDir = join(await makeFolder(), 'data');
      await mkdir(dataDir, { mode: 0o700 });
      const serveArgs = ['--listen', `127.0.0.1:${port}`, ...shared, ...store];
      servers.push(await startServerOn(dataDir, fleet.callers, { serveArgs }));
    }
    return servers;
  };
}
