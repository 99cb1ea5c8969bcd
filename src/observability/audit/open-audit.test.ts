import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { createLogger } from '../logger.ts';
import { isLow } from './audit-file.ts';
import { type AuditLogs, openAuditLogs } from './open-audit.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-audit-logs-'));
});

const logger = createLogger({ level: 'info', write: () => {} });

function openIn(security = 'security.log'): Promise<AuditLogs> {
  const limits = { maxBytes: 1e6, maxAgeMs: 0, maxBackups: 0 };
  const path = (name: string): string => join(dir, name);
  return openAuditLogs(
    { audit: { path: path('audit.log'), ...limits }, securityAudit: { path: path(security), ...limits } },
    logger,
  );
}

test('A9: closing writes the lines of both logs', async () => {
  const logs = await openIn();
  logs.requests.write('a request');
  logs.security.write('a change');
  await logs.close();
  expect(await readFile(join(dir, 'audit.log'), 'utf8')).toBe('a request\n');
  expect(await readFile(join(dir, 'security.log'), 'utf8')).toBe('a change\n');
  expect(logs.counts).toEqual({ written: 2, lost: 0, failing: false });
  const { requests, security } = await logs.files();
  expect([requests?.bytes, security?.bytes]).toEqual([10, 9]);
  expect(security?.space?.size).toBeGreaterThan(security?.space?.free ?? Number.NaN);
});

const GIB = 1024 ** 3;
test.each([
  ['a tenth of a small volume', 5 * GIB, 0.5 * GIB],
  ['a gibibyte of a large one', 1000 * GIB, GIB],
])('D6: the space of a volume is low below %s', (_, size, limit) => {
  expect([isLow({ size, free: limit }), isLow({ size, free: limit - 1 })]).toEqual([false, true]);
});

test('A9: a path that cannot be used is an error, and a full disk is one of each token only', async () => {
  await writeFile(join(dir, 'file'), '');
  await expect(openIn('file/below')).rejects.toMatchObject({ code: expect.stringMatching(/^(?:ENOTDIR|EEXIST)$/) });
  await symlink('/dev/full', join(dir, 'full'));
  const logs = await openIn('full');
  await expect(logs.security.commit('a token')).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(logs.counts).toEqual({ written: 0, lost: 0, failing: true });
  expect((await logs.files()).security?.space, 'of a device').toBeUndefined();
  // What is not durable is not shown either.
  expect(logs.recent.sequence).toBe(0);
  await logs.close();
});
