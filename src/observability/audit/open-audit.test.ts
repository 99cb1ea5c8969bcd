import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../logger.ts';
import { type AuditLogs, openAuditLogs } from './open-audit.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-audit-logs-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

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
});

test('A9: a path that cannot be used is an error, and a full disk is one of each token only', async () => {
  await writeFile(join(dir, 'file'), '');
  await expect(openIn('file/below')).rejects.toMatchObject({ code: expect.stringMatching(/^(?:ENOTDIR|EEXIST)$/) });
  await symlink('/dev/full', join(dir, 'full'));
  const logs = await openIn('full');
  await expect(logs.security.commit('a token')).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(logs.counts).toEqual({ written: 0, lost: 0, failing: true });
  // What is not durable is not shown either.
  expect(logs.recent.sequence).toBe(0);
  await logs.close();
});
