import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFixture } from '../http.fixture.ts';
import { readConsoleFiles } from './console-files.ts';
import { consoleRoutes } from './console-routes.ts';

const settings = { productName: 'orchestrator', version: '0', maxRequestSeconds: 3_600 };

test('a console that was not built says so, and how to build it', async () => {
  const files = await readConsoleFiles(join(tmpdir(), 'no-such-folder'));
  expect(files).toBeUndefined();
  const { send } = await startFixture(undefined, { paths: consoleRoutes({ files, ...settings }) });
  const reply = await send({ path: '/console/', token: '' });
  expect(reply.code).toBe(503);
  expect(reply.text).toContain('npm run build');
  expect((await send({ path: '/console/settings.json', token: '' })).code).toBe(401);
});

test('files come from memory: what changes on the disk afterwards changes nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-console-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html>first');
  await writeFile(join(folder, 'notes.txt'), 'not for the public');
  const files = await readConsoleFiles(folder);
  const { send } = await startFixture(undefined, { paths: consoleRoutes({ files, ...settings }) });
  await writeFile(join(folder, 'index.html'), 'second');
  await writeFile(join(folder, 'late.js'), 'late');
  expect((await send({ path: '/console/', token: '' })).text).toBe('<!doctype html>first');
  for (const name of ['late.js', 'notes.txt']) {
    expect((await send({ path: `/console/${name}`, token: '' })).code, name).toBe(401);
  }
});
