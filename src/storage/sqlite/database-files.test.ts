import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requireLocalDisk } from './database-files.ts';

const FILE = '/data/clusterpass.db';

describe('B19: the file of the embedded store', () => {
  it.each([
    [0x6969, 'NFS'],
    [0xff534d42, 'CIFS'],
    // The same as a signed 32-bit number.
    [0xff534d42 | 0, 'CIFS'],
    [0xfe534d42, 'SMB2'],
    [0x00c36400, 'Ceph'],
  ])('is refused on the file system %d (%s)', (type, name) => {
    const paths: string[] = [];
    const statfs = (path: string) => {
      paths.push(path);
      return { type };
    };
    expect(() => requireLocalDisk(FILE, statfs)).toThrow(
      `/data/clusterpass.db is on a network file system (${name}): put --data-dir on a disk of this machine, or use etcd`,
    );
    expect(paths).toEqual(['/data']);
  });

  it('is accepted on any other, and where statfs fails', () => {
    for (const type of [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630]) {
      expect(() => requireLocalDisk(FILE, () => ({ type }))).not.toThrow();
    }
    expect(() => requireLocalDisk(join(tmpdir(), 'no-such-folder', 'x.db'))).not.toThrow();
    expect(() => requireLocalDisk(join(tmpdir(), 'x.db'))).not.toThrow();
  });
});
