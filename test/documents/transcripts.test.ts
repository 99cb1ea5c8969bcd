import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBECTL } from '../../scripts/programs.ts';
import { describeWithEtcd, startEtcd } from '../conformance/etcd-process.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { type Server, startServer, TLS } from '../e2e/support/server.ts';
import { ROOT } from './support/blocks.ts';
import { runClientCommand } from './support/client-commands.ts';
import { installClusterpass } from './support/clusterpass.ts';
import { environmentOf, runTranscript, type World } from './support/transcript.ts';

/**
 * docs/transcripts/: the files are run against one server with the demo fleet; none uses what another one changes.
 * `UPDATE=1 npm test -- transcripts` writes the answers of now.
 */

const FOLDER = join(ROOT, 'docs/transcripts');
/** It stops the store, so its server is its own. */
const WITH_ETCD = 'lose-etcd.txt';
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));

/** A folder with the programs, and a login of the administrator and of each person of the demo. */
async function createWorld(server: Server, actions?: World['actions']): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-transcripts-'));
  mkdirSync(join(folder, 'bin'));
  installClusterpass(join(folder, 'bin'));
  symlinkSync(KUBECTL, join(folder, 'bin/kubectl'));
  const world: World = { folder, url: server.url, env: { CURL_CA_BUNDLE: TLS.caFile }, ...(actions && { actions }) };
  for (const who of ['admin', 'carl', 'dana', 'devi']) {
    const file = join(server.dataDir, who === 'admin' ? 'admin.token' : `demo/${who}.token`);
    const args = ['login', '--server', server.url, '--certificate-authority', TLS.caFile, '--token-file', file];
    const env = environmentOf(world, who);
    const login = await runClientCommand({ args }, { env, cwd: folder });
    expect(login.code, login.stderr).toBe(0);
    symlinkSync(file, join(env.HOME ?? '', 'token'));
  }
  return world;
}

/** Compares the answers of the file with those of now, or writes those. */
async function follow(name: string, world: World): Promise<void> {
  const file = join(FOLDER, name);
  const text = readFileSync(file, 'utf8');
  const now = await runTranscript(text, world);
  if (process.env.UPDATE === '1') writeFileSync(file, now);
  else expect(now).toBe(text);
}

describeWithKubectl('docs/transcripts', () => {
  it('there are at least eight', () => expect(FILES.length).toBeGreaterThanOrEqual(8));

  describe('with the demo fleet', () => {
    let server: Server;
    let world: World;
    beforeAll(async () => {
      server = await startServer({ tls: true, args: ['--demo=true'] });
      world = await createWorld(server);
    });
    afterAll(async () => {
      await server.destroy();
      rmSync(world.folder, { recursive: true, force: true });
    });

    it.each(FILES.filter((name) => name !== WITH_ETCD))('%s', (name) => follow(name, world));
  });

  describeWithEtcd('with etcd', () => {
    it(WITH_ETCD, async () => {
      const etcd = await startEtcd();
      const [member] = etcd.members;
      const key = join(mkdtempSync(join(tmpdir(), 'clusterpass-key-')), 'encryption.key');
      writeFileSync(key, randomBytes(32).toString('base64'), { mode: 0o600 });
      const store = ['--store', `etcd://${etcd.endpoints[0]}/fleet`, '--encryption-key-file', key];
      const server = await startServer({ tls: true, args: ['--demo=true', ...store] });
      const world = await createWorld(server, {
        'systemctl stop etcd': async () => member?.kill(),
        'systemctl start etcd': async () => member?.restart(),
      });
      try {
        await follow(WITH_ETCD, world);
      } finally {
        await server.destroy();
        await etcd.destroy();
        for (const folder of [world.folder, dirname(key)]) rmSync(folder, { recursive: true, force: true });
      }
    });
  });
});
