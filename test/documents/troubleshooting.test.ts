import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { createAccount, createCluster, createNamespace } from '../e2e/support/objects.ts';
import { TLS, tokenOf } from '../e2e/support/server.ts';
import { sharedTlsServer } from '../e2e/support/shared-server.ts';
import { blocksOf, execute, isRun, readPage } from './support/blocks.ts';
import { everyCommandWasRun } from './support/every-command.ts';
import { missingLines, PageRunner } from './support/page-runner.ts';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const page = readPage('docs/troubleshooting.md');

/** The first cells of the tables of messages. */
const messages = [...page.matchAll(/^\| message.*\n\|[-|]+\n((?:\|.*\n)+)/gm)].flatMap(([, rows = '']) =>
  rows
    .trim()
    .split('\n')
    .flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`(.+?)`/g)].map(([, text = '']) => text)),
);

/** Literals of a file, with `…` for what is computed, and joined where they are concatenated. */
const literalsOf = (file: string): string =>
  readFileSync(file, 'utf8')
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…')
    .replaceAll(/['"`]\s*\+\s*['"`]/g, '');
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(name))
  .map((name) => literalsOf(join(SRC, name)));

const isInSource = (message: string): boolean => {
  const parts = message.split('…').map((part) => part.trim());
  return parts.join('').length > 8 && sources.some((text) => parts.every((part) => text.includes(part)));
};

describe('docs/troubleshooting.md', () => {
  const server = sharedTlsServer();
  let runner: PageRunner;
  beforeAll(async () => {
    await createCluster(server, 'prod-eu-1');
    await createNamespace(server, 'ci', 'prod-eu-1');
    await createAccount(server, 'builder', 'ci', 'prod-eu-1');
    await server.stop();
    const db = new DatabaseSync(join(server.dataDir, 'clusterpass.db'));
    db.exec("UPDATE log SET value = CAST('{' AS BLOB) WHERE key = '/registry/serviceaccounts/prod-eu-1/ci/builder'");
    db.close();
    await server.restart();
    runner = await PageRunner.create(() => [['https://clusterpass.example.com:8443', server.url]]);
    copyFileSync(TLS.caFile, join(runner.folder, 'tls.crt'));
    copyFileSync(join(server.dataDir, 'admin.token'), join(runner.folder, 'admin.token'));
  });
  afterAll(() => runner.destroy());
  const asJane = (): string =>
    `export CLUSTERPASS_SERVER=${server.url} CLUSTERPASS_CA=tls.crt CLUSTERPASS_TOKEN=${tokenOf('jane')}; `;

  it('its commands succeed', async () => {
    const found = blocksOf('docs/troubleshooting.md').filter(isRun);
    expect(found.length).toBeGreaterThan(1);
    for (const block of found) {
      const ran = await execute(block, (text) => runner.shell(asJane() + runner.localize(text)));
      expect(ran.code, `${block.text}\n${ran.output}`).toBe(0);
    }
  });

  it('its messages are those of the program', async () => {
    expect(messages.length).toBeGreaterThan(30);
    const [port = 0] = await freePorts(1);
    writeFileSync(join(runner.folder, 'open.csv'), 'token-of-someone-0123,someone,someone,\n');
    chmodSync(join(runner.folder, 'open.csv'), 0o644);
    mkdirSync(join(runner.folder, 'other'), { mode: 0o700 });
    writeFileSync(join(runner.folder, 'taken.db'), '');
    const serve = `timeout 30 clusterpass serve --listen 127.0.0.1:${port}`;
    const commands: readonly (readonly [parts: string | readonly string[], command: string])[] = [
      ['is in use by another program', `clusterpass serve --data-dir d1 --listen ${new URL(server.url).host}`],
      ['is in use by another process', `${serve} --data-dir ${server.dataDir}`],
      [
        ['plain HTTP is served on loopback only', 'set --base-url'],
        'clusterpass serve --data-dir d1 --listen 0.0.0.0:1',
      ],
      ['cannot be used: expected', `${serve} --data-dir d1 --max-connections many`],
      ['holds a secret and is open', `${serve} --data-dir d2 --token-auth-file open.csv`],
      [
        'encrypted with another key',
        `clusterpass store backup --data-dir ${server.dataDir} -f other/clusterpass.db; mkdir -m 700 other/keys; (umask 077; head -c 32 /dev/zero > other/keys/encryption.key); ${serve} --data-dir other`,
      ],
      ['error: no server:', 'clusterpass get clusters'],
      ['error: not logged in to', `clusterpass get clusters --server ${server.url} --certificate-authority tls.crt`],
      ['(Unauthorized)', `${asJane()} CLUSTERPASS_TOKEN=wrong-token-0123456789 clusterpass get clusters`],
      ['no trusted authority', `CLUSTERPASS_TOKEN=${tokenOf('jane')} clusterpass get clusters --server ${server.url}`],
      [
        'does it want https://?',
        `${asJane()} CLUSTERPASS_SERVER=${server.url.replace('https', 'http')} clusterpass get clusters`,
      ],
      ['cannot be reached: …', `${asJane()} CLUSTERPASS_SERVER=https://127.0.0.1:${port} clusterpass get clusters`],
      ['No resources found', `${asJane()} clusterpass get clusters`],
      ['is forbidden: User', `${asJane()} clusterpass keys list`],
      ['… not found', `${asJane()} CLUSTERPASS_TOKEN=${server.adminToken} clusterpass confirm none`],
      ['exists already', `clusterpass store backup --data-dir ${server.dataDir} -f taken.db`],
      ['store backup is for SQLite', 'clusterpass store backup --store etcd://127.0.0.1:1/x -f etcd.db'],
    ];
    const produced = new Set<string>();
    for (const [parts, command] of commands) {
      const { output } = await runner.shell(`set +e; ${command}`);
      for (const part of [parts].flat()) {
        const [message, ...others] = messages.filter((text) => text.includes(part));
        expect([message, others], part).toEqual([expect.any(String), []]);
        expect(missingLines(message ?? '', output), `${command}\n${output}`).toEqual([]);
        produced.add(message ?? '');
      }
    }
    expect(messages.filter((message) => !produced.has(message) && !isInSource(message))).toEqual([]);
  }, 180_000);

  everyCommandWasRun('docs/troubleshooting.md');
});
