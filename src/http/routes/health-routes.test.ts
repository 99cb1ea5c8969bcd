import { expect, test } from 'vitest';
import { startFixture } from '../http.fixture.ts';

const checks = { storage: () => {}, cache: async () => {} };

test('decision 8: health and version are public, also with a bad token', async () => {
  const { send } = await startFixture(undefined, { checks });
  for (const path of ['/livez', '/readyz', '/healthz', '/livez/', '/readyz/storage']) {
    for (const token of ['', 'wrong']) {
      const reply = await send({ path, token });
      expect(reply).toMatchObject({ code: 200, text: 'ok' });
      expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
    }
  }
  expect((await send({ path: '/version', token: 'wrong' })).code).toBe(200);
});

test('verbose lists every check in order', async () => {
  const { send } = await startFixture(undefined, { checks });
  expect((await send({ path: '/readyz?verbose' })).text).toBe(
    '[+]ping ok\n[+]storage ok\n[+]cache ok\n[+]shutdown ok\nreadyz check passed\n',
  );
  expect((await send({ path: '/livez?verbose' })).text).toBe('[+]ping ok\nlivez check passed\n');
});

test('B12: a failing check is 503, its reason is only in the log, and the process stays alive', async () => {
  const broken = { ...checks, storage: () => Promise.reject(new Error('disk is gone')) };
  const { send, lines } = await startFixture(undefined, { checks: broken });
  const reply = await send({ path: '/readyz', token: '' });
  expect(reply.code).toBe(503);
  expect(reply.text).toBe(
    '[+]ping ok\n[-]storage failed: reason withheld\n[+]cache ok\n[+]shutdown ok\nreadyz check failed\n',
  );
  expect(lines.some((line) => line.includes('disk is gone') && line.includes('"check":"storage"'))).toBe(true);
  expect((await send({ path: '/livez' })).code).toBe(200);
  expect((await send({ path: '/readyz/storage' })).code).toBe(503);
  expect((await send({ path: '/readyz/cache' })).code).toBe(200);
});

test('A1: a warning is shown and fails alone, and the server stays ready', async () => {
  const warnings = { 'token-file': () => Promise.reject(new Error('the file is gone')) };
  const { send, lines } = await startFixture(undefined, { checks, warnings });
  expect(await send({ path: '/readyz', token: '' })).toMatchObject({ code: 200, text: 'ok' });
  expect(await send({ path: '/readyz?verbose', token: '' })).toMatchObject({
    code: 200,
    text: '[+]ping ok\n[+]storage ok\n[+]cache ok\n[!]token-file failed: reason withheld\n[+]shutdown ok\nreadyz check passed\n',
  });
  expect((await send({ path: '/readyz/token-file', token: '' })).code).toBe(503);
  expect(lines.some((line) => line.includes('the file is gone') && line.includes('"check":"token-file"'))).toBe(true);
});

test('only these paths, only to read', async () => {
  const { send } = await startFixture(undefined, { checks });
  expect((await send({ path: '/readyz/nothing' })).code).toBe(404);
  expect((await send({ path: '/readyz/storage/x', token: '' })).code).toBe(401);
  expect((await send({ path: '/orchestrator/a/livez', token: '' })).code).toBe(401);
  expect((await send({ path: '/livez', method: 'POST' })).code).toBe(405);
  expect(await send({ path: '/livez', method: 'HEAD' })).toMatchObject({ code: 200, text: '' });
});

test('X-18: version', async () => {
  const { send } = await startFixture();
  const reply = await send({ path: '/version', token: '' });
  expect(reply.text).toMatch(/^\{\n {2}"major": "0",\n {2}"minor": "1",\n {2}"gitVersion": "v0\.1\.0",\n.*\}$/s);
  expect(Object.keys(reply.json())).toEqual([
    'major',
    'minor',
    'gitVersion',
    'gitCommit',
    'gitTreeState',
    'buildDate',
    'goVersion',
    'compiler',
    'platform',
  ]);
});
