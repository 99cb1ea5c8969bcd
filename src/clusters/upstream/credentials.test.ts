import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { readMountedSecret } from '../../lib/secret-file.ts';
import { createCredentials } from './credentials.ts';

let dir: string;
let reports: string[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-credentials-'));
  reports = [];
  await mkdir(join(dir, 'fleet/alpha'), { recursive: true });
});

const open = (folder: string | undefined = dir) =>
  createCredentials({
    dir: folder,
    readSecret: readMountedSecret,
    report: ({ message, error }) => reports.push(`${message} ${error}`),
  });
const write = (name: string, text: string, mode = 0o600) => writeFile(join(dir, 'fleet/alpha', name), text, { mode });
const ALPHA = { namespace: 'fleet', name: 'alpha' };
const refused = { name: 'UpstreamError', reason: 'credential' };

it('a token, without its trailing newline', async () => {
  await write('token', 'abc.DEF-123_~+/==\n');
  const credential = await open().read(ALPHA);
  expect(credential.type === 'token' && credential.token.reveal()).toBe('abc.DEF-123_~+/==');
  expect(JSON.stringify(credential)).not.toContain('abc');
});

it('a certificate and its key, with a digest of the pair', async () => {
  await write('tls.crt', 'cert');
  await write('tls.key', 'key');
  const first = await open().read(ALPHA);
  expect(first).toMatchObject({ type: 'certificate', cert: Buffer.from('cert') });
  expect(JSON.stringify(first)).not.toContain('"key":"key"');
  await write('tls.key', 'other');
  const second = await open().read(ALPHA);
  expect(first.type === 'certificate' && second.type === 'certificate' && first.digest === second.digest).toBe(false);
});

it('as Kubernetes mounts a Secret: links to a directory that is replaced', async () => {
  await mkdir(join(dir, 'fleet/alpha/..data'));
  await write('..data/token', 'mounted');
  await symlink('..data/token', join(dir, 'fleet/alpha/token'));
  expect((await open().read(ALPHA)).type).toBe('token');
});

it.each([
  ['nothing', {}],
  ['half a pair', { 'tls.crt': 'x' }],
  ['the other half', { 'tls.key': 'x' }],
  ['an empty token', { token: '\n' }],
  ['two tokens', { token: 'canary\ncanary' }],
  ['a token that is none', { token: 'canary canary' }],
])('%s cannot be used; the report names the path and not the content', async (_, files) => {
  for (const [name, text] of Object.entries(files)) await write(name, text);
  await expect(open().read(ALPHA)).rejects.toMatchObject(refused);
  expect(reports).toHaveLength(1);
  expect(reports[0]).toContain('fleet/alpha');
  expect(reports[0]).not.toContain('canary');
});

it('a file that other users can read is not used', async () => {
  await write('token', 'canary', 0o644);
  await expect(open().read(ALPHA)).rejects.toMatchObject(refused);
  expect(reports[0]).toContain('chmod 600');
});

it.each([
  ['..', 'alpha'],
  ['fleet', '..'],
  ['fleet/..', 'alpha'],
  ['fleet', 'a/../../b'],
  ['', 'alpha'],
  ['fleet', ''],
  ['fleet', '/etc'],
  ['FLEET', 'alpha'],
  ['fleet\0', 'alpha'],
])('A16: %j/%j is not a valid name', async (namespace, name) => {
  await expect(open().read({ namespace, name })).rejects.toMatchObject(refused);
});
