import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryProblem, fileProblem, requireLocalDisk } from './database-files.ts';

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

describe('A1: the owner and the mode of the files of the embedded store', () => {
  const server = { uid: 1000, groups: [1000, 65532] };
  const root = { uid: 0, groups: [0] };

  it.each([
    ['0700, our own', { uid: 1000, gid: 1000, mode: 0o40700 }, server, false],
    ['0777, our own: we could close it', { uid: 1000, gid: 1000, mode: 0o40777 }, server, true],
    ['0770, our own, in a group that is not ours', { uid: 1000, gid: 100, mode: 0o40770 }, server, true],
    [
      "0770, our own, in our group: a volume with Kubernetes' fsGroup",
      { uid: 1000, gid: 65532, mode: 0o42770 },
      server,
      false,
    ],
    ["0777, root's: a volume that some provisioners make", { uid: 0, gid: 0, mode: 0o40777 }, server, false],
    ['1777: others cannot replace our files', { uid: 0, gid: 0, mode: 0o41777 }, root, false],
  ])('directory %s', (_, found, self, isRefused) => {
    expect(directoryProblem('/data', found, self) !== undefined).toBe(isRefused);
  });

  it.each([
    ['0600, our own', { uid: 1000, gid: 1000, mode: 0o100600 }, server, false],
    ["0600, root's", { uid: 0, gid: 0, mode: 0o100600 }, server, false],
    ["0600, another user's", { uid: 1001, gid: 1000, mode: 0o100600 }, server, true],
    ['0666, our own', { uid: 1000, gid: 1000, mode: 0o100666 }, server, true],
    ['0660, in a group of ours', { uid: 1000, gid: 65532, mode: 0o100660 }, server, false],
    ['0660, in a group that is not ours', { uid: 1000, gid: 100, mode: 0o100660 }, server, true],
    ["0660, another user's, used by root", { uid: 1000, gid: 1000, mode: 0o100660 }, root, false],
    ["0666, another user's, used by root", { uid: 1000, gid: 1000, mode: 0o100666 }, root, true],
    [
      "0660, another user's, in a group of ours: fsGroup after a change of the uid",
      { uid: 1001, gid: 65532, mode: 0o100660 },
      server,
      false,
    ],
  ])('file %s', (_, found, self, isRefused) => {
    expect(fileProblem(FILE, found, self) !== undefined).toBe(isRefused);
  });
});
