import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { addCluster } from './support/fleet.ts';
import {
  ASK,
  codeFor,
  create,
  createAccount,
  createNamespace,
  inNamespace,
  remove,
  tokenPath,
} from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { run } from './support/run.ts';
import { type CliResult, runStore } from './support/run-command.ts';
import { type Server, startServer } from './support/server.ts';

/** Restored servers have another port and the same issuers. */
const serve = async (dataDir: string): Promise<Server> => {
  const [port = 0] = await freePorts(1);
  return startServer({ dataDir, port, args: ['--base-url', 'http://127.0.0.1:1'] });
};

const GROUP = { apiVersion: 'clusterpass.dev/v1alpha1' };
const PASSES = '/apis/clusterpass.dev/v1alpha1/passes';

const namesOf = async (server: Server): Promise<string[]> =>
  (await server.call('GET', CLUSTERS)).json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

describe('B18: clusterpass store backup', () => {
  let folder: string;
  let server: Server;
  let token: string;
  let handle: string;
  /** The clusters before the backup. */
  let before: string[];
  const inFolder = (name: string): string => join(folder, name);
  const backup = (...args: string[]): Promise<CliResult> => runStore('backup', ...args);
  const filesOfServer = async (): Promise<string[]> =>
    (await readdir(server.dataDir)).filter((name) => name.includes('backup'));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-backup-'));
    server = await serve(await mkdtemp(join(tmpdir(), 'clusterpass-e2e-')));
    await addCluster(server, 'alpha');
    await createNamespace(server, 'ci');
    await createAccount(server, 'builder');
    // Large enough for several steps of a backup.
    for (let i = 0; i < 40; i++) {
      const annotations = { filler: 'x'.repeat(200_000) };
      await addCluster(server, `large-${i}`, { annotations });
    }
    token = (await server.call('POST', tokenPath(), { body: ASK })).json.status.token;
    const serviceAccount = { namespace: 'ci', name: 'builder' };
    const spec = { cluster: 'alpha', serviceAccount, purpose: 'for the test of restores' };
    handle = (await create(server, PASSES, { ...GROUP, kind: 'Pass', spec })).metadata.name;
  });
  afterAll(() => server.destroy());

  it('copies the database while the server writes', async () => {
    const target = inFolder('fleet.db');
    let written = 0;
    let isDone = false;
    const writer = (async () => {
      for (; !isDone; written++) await addCluster(server, `written-${written}`);
    })();
    await vi.waitUntil(() => written > 2);
    before = await namesOf(server);
    const writtenBefore = written;
    const ended = await run(['store', 'backup', '--data-dir', server.dataDir, '-f', target]);
    expect(written).toBeGreaterThan(writtenBefore);
    isDone = true;
    await writer;
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toMatch(/fleet\.db is a backup of \S+clusterpass\.db at revision \d+\n$/);
    expect((await stat(target)).mode & 0o777).toBe(0o600);
    await vi.waitUntil(async () => (await filesOfServer()).length === 0);

    const checked = await run(['store', 'check', '--store', `sqlite:${target}`]);
    expect(checked, checked.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('0 problems') });
  });

  describe('a server on the copy', () => {
    let restored: Server;
    /** Tokens that the first server issued after the backup. */
    const issued = { ofHandle: '', refused: [] as string[] };
    const versions: number[] = [];
    const versionOf = async (one: Server): Promise<number> =>
      Number((await one.call('GET', CLUSTERS)).json.metadata.resourceVersion);

    beforeAll(async () => {
      const issue = async (path: string, body?: object): Promise<string> => {
        const answer = await server.call('POST', path, { body });
        expect(answer.code, answer.text).toBe(201);
        return answer.json.status.token;
      };
      versions.push(await versionOf(server));
      await addCluster(server, 'after-the-backup');
      versions.push(await versionOf(server));
      issued.ofHandle = await issue(`${PASSES}/${handle}/token`);
      await createAccount(server, 'later');
      issued.refused.push(await issue(tokenPath('later'), ASK));
      // The backup has the present key and the next one.
      for (let i = 0; i < 2; i++) {
        const body = { ...GROUP, kind: 'SigningKey', spec: { force: true } };
        await create(server, '/apis/clusterpass.dev/v1alpha1/signingkeys', body);
      }
      issued.refused.push(await issue(tokenPath(), ASK));
      await remove(server, inNamespace('serviceaccounts/builder'));
      await createAccount(server, 'builder');
      issued.refused.push(await issue(tokenPath(), ASK));

      const dataDir = inFolder('restored');
      await mkdir(dataDir, { mode: 0o700 });
      await copyFile(inFolder('fleet.db'), join(dataDir, 'clusterpass.db'));
      await cp(join(server.dataDir, 'keys'), join(dataDir, 'keys'), { recursive: true });
      restored = await serve(dataDir);
    });
    afterAll(() => restored?.destroy());

    it('has one state of the store, and another admin token', async () => {
      const names = await namesOf(restored);
      expect(names).toEqual(expect.arrayContaining(before));
      // Of the clusters that were written one after the other, the first n.
      const numbers = names.flatMap((name) => (name.startsWith('written-') ? [Number(name.slice(8))] : []));
      expect(numbers.sort((a, b) => a - b)).toEqual(numbers.map((_, i) => i));
      expect((await restored.call('GET', '/auth/v1/clusters', { token })).code, 'an issued token').toBe(200);
      // The admin token is not in the database.
      expect(restored.adminToken).not.toBe(server.adminToken);
      expect((await restored.call('GET', CLUSTERS, { token: server.adminToken })).code).toBe(401);
    });

    it('repeats no resource version: a client from after the backup lists again', async () => {
      await addCluster(restored, 'something-else');
      expect(await versionOf(restored)).toBeGreaterThan(versions.at(-1) ?? 0);
      for (const version of versions) {
        const path = `${CLUSTERS}?watch=true&timeoutSeconds=1&resourceVersion=${version}`;
        const { code, text, json } = await restored.call('GET', path);
        expect(text.startsWith('{"type":"ERROR"') ? json.object.code : code).toBe(410);
      }
    });

    it('accepts some tokens from after the backup, though it has no record of them', async () => {
      for (const refused of issued.refused) expect(await codeFor(restored, refused)).toBe(401);
      expect(await codeFor(restored, issued.ofHandle)).toBe(200);
      await remove(restored, `${PASSES}/${handle}`);
      expect(await codeFor(restored, issued.ofHandle), 'its handle is revoked').toBe(200);
      await remove(restored, `/apis/clusterpass.dev/v1alpha1/issuedtokens/${decodeJwt(issued.ofHandle).jti}`);
      expect(await codeFor(restored, issued.ofHandle)).toBe(401);
    });

    it('a copy beside the write-ahead log of a killed server is refused, and stays as it is', async () => {
      const target = inFolder('fleet.db');
      await addCluster(restored, 'of-the-old-server');
      await restored.kill();
      const database = join(restored.dataDir, 'clusterpass.db');
      expect((await stat(`${database}-wal`)).size).toBeGreaterThan(0);
      // Also after a check, which opens the database.
      expect(await runStore('check', '--store', `sqlite:${target}`)).toMatchObject({ code: 0 });
      await copyFile(target, database);
      const sentence =
        `clusterpass: ${database}-wal belongs to another database than ${database}, which is a backup: ` +
        `move ${database}-wal away\n`;
      const refused = await runStore('check', '--data-dir', restored.dataDir);
      expect(refused).toEqual({ code: 1, stdout: '', stderr: sentence });
      expect((await readFile(database)).equals(await readFile(target))).toBe(true);
      await rm(`${database}-wal`);
      expect(await runStore('check', '--data-dir', restored.dataDir)).toMatchObject({ code: 0 });
      const stopped = await backup('--data-dir', restored.dataDir, '-f', inFolder('restored.db'));
      expect(stopped, stopped.stderr).toMatchObject({ code: 0 });
    });
  });

  it('does not overwrite a file', async () => {
    await writeFile(inFolder('mine'), 'mine');
    const ended = await backup('--data-dir', server.dataDir, '-f', inFolder('mine'));
    const sentence = `clusterpass: ${inFolder('mine')} exists already: choose another name, or remove it\n`;
    expect([ended.code, ended.stderr]).toEqual([1, sentence]);
    const nowhere = await backup('--data-dir', inFolder('nowhere'), '-f', inFolder('other'));
    expect([nowhere.code, nowhere.stderr]).toEqual([
      1,
      `clusterpass: cannot use ${inFolder('nowhere/clusterpass.db')}: no such file or directory\n`,
    ]);
    expect(await readFile(inFolder('mine'), 'utf8')).toBe('mine');
  });

  /** A client that requests a backup and does not read it. */
  async function idleClient(): Promise<{ socket: Socket; name: string }> {
    for (;;) {
      const socket = createConnection(join(server.dataDir, 'clusterpass.db.sock')).setEncoding('utf8');
      const { name } = JSON.parse(String(await once(socket, 'data')));
      if (name !== undefined) return { socket, name };
      // The server may not have noticed yet that the client before has left.
      socket.destroy();
    }
  }

  it('makes one backup at a time, and removes its copy when the client leaves', async () => {
    expect((await stat(join(server.dataDir, 'clusterpass.db.sock'))).mode & 0o777).toBe(0o600);
    const { socket, name } = await idleClient();
    expect(await filesOfServer()).toEqual([name]);
    expect((await stat(join(server.dataDir, name))).mode & 0o777).toBe(0o600);
    const second = await backup('--data-dir', server.dataDir, '-f', inFolder('second.db'));
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('another backup of')]);
    expect(await readdir(folder)).not.toContain('second.db');
    socket.destroy();
    await vi.waitUntil(async () => (await filesOfServer()).length === 0);
  });

  it('without a server it opens the database itself', async () => {
    const ended = await backup('--data-dir', server.dataDir, '-f', inFolder('stopped.db'));
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    const checked = await runStore('check', '--store', `sqlite:${inFolder('stopped.db')}`);
    expect(checked, checked.stderr).toMatchObject({ code: 0 });
    expect(await filesOfServer()).toEqual([]);
  });
});
