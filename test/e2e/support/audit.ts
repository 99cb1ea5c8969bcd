import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
export type AuditEvent = any;

/** Every line of an audit log; each has to be one JSON object. */
export async function readAudit(path: string): Promise<AuditEvent[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** The events of one request, as soon as there are so many. Lines may be written after the answer. */
export async function eventsOf(path: string, auditId: string | null, count = 1): Promise<AuditEvent[]> {
  let found: AuditEvent[] = [];
  const look = async () => {
    found = (await readAudit(path)).filter(({ auditID }) => auditID === auditId);
    return found.length;
  };
  await expect.poll(look, { timeout: 10_000 }).toBe(count);
  return found;
}

/** The bytes of all files beside it, itself included. */
export async function allAuditBytes(path: string): Promise<string> {
  const dir = dirname(path);
  const files = await readdir(dir);
  return (await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')))).join('');
}
