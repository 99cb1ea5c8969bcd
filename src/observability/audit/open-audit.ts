import type { Logger } from '../logger.ts';
import { AuditFile, type AuditFileOptions } from './audit-file.ts';
import { AuditLog } from './audit-log.ts';

/** A disk that takes nothing now may do so later: that stops tokens, not the start. */
const MAY_PASS: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EIO']);

/** Throws the system's error when the path can not be used. */
export async function openAudit(
  options: Omit<AuditFileOptions, 'now' | 'onProblem'>,
  logger: Logger,
): Promise<AuditLog> {
  const file = new AuditFile({
    ...options,
    now: Date.now,
    onProblem: (error) => logger.warn({ err: error }, 'an audit log could not be put aside or removed'),
  });
  await file.open().catch((error: NodeJS.ErrnoException) => {
    if (!MAY_PASS.has(error.code)) throw error;
    logger.error({ err: error }, 'the audit log can not be opened: no tokens are issued until it can');
  });
  return new AuditLog({ file, logger });
}
