import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
export type AuditEvent = any;

/** The default of `--audit-log-path`. */
export const auditLogOf = ({ dataDir }: { readonly dataDir: string }): string => join(dataDir, 'audit/audit.log');

/** The default of `--audit-security-log-path`. */
export const securityLogOf = (path: string): string => path.replace(/(\.log)?$/, '-security$1');

/** Every event of an audit log and of the security log beside it. */
export async function readAudit(path: string): Promise<AuditEvent[]> {
  const security = await readLines(securityLogOf(path)).catch(() => []);
  return [...(await readLines(path)), ...security];
}

/** Each line has to be one JSON object. */
export async function readLines(path: string): Promise<AuditEvent[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** The events of one request, once there are `count`. Lines may be written after the response. */
export async function eventsOf(path: string, auditId: string | null, count = 1): Promise<AuditEvent[]> {
  let found: AuditEvent[] = [];
  const look = async () => {
    found = (await readAudit(path)).filter(({ auditID }) => auditID === auditId);
    return found.length;
  };
  await expect.poll(look).toBe(count);
  return found;
}

/** The bytes of all files in the directory of the audit log. */
export async function allAuditBytes(path: string): Promise<string> {
  const dir = dirname(path);
  const files = await readdir(dir);
  return (await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')))).join('');
}
