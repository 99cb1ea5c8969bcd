import { type StatsFs, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { StorageError } from '../contract.ts';

/** File systems of other machines, by the numbers of Linux (statfs(2)). */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
]);

/**
 * B19: what keeps a second process from the file is a lock, and what makes a write durable is an fsync. Neither can be
 * relied on across a network (https://sqlite.org/wal.html: "does not work over a network filesystem").
 */
export function requireLocalDisk(file: string, statfs: (path: string) => Pick<StatsFs, 'type'> = statfsSync): void {
  let type: number;
  try {
    type = statfs(dirname(file)).type >>> 0;
  } catch {
    // Whatever is wrong there, opening the file says it better.
    return;
  }
  const name = NETWORK.get(type);
  if (name === undefined) return;
  throw new StorageError(
    'unavailable',
    `${file} is on a network file system (${name}): put --data-dir on a disk of this machine, or use etcd (--store)`,
  );
}
