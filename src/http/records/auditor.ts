import { unavailable } from '../../api/status.ts';
import type { AuditLog } from '../../observability/audit/audit-log.ts';
import { auditLine } from './audit-event.ts';
import type { RequestRecord } from './request-record.ts';

/** Brings what is known of requests into the audit log. */
export interface Auditor {
  /** A9: resolves when the line is durable; a 503 otherwise. */
  beforeRelease(record: RequestRecord): Promise<void>;
  started(record: RequestRecord): void;
  ended(record: RequestRecord): void;
}

const RETRY_SECONDS = 5;

/** The log says why, once; a caller can do nothing about it. */
function refuse(): never {
  throw unavailable('the audit log can not be written, so no token is issued; please try again', RETRY_SECONDS);
}

export function createAuditor(log: Pick<AuditLog, 'write' | 'commit'>, now: () => number): Auditor {
  return {
    beforeRelease: (record) => log.commit(auditLine(record, 'ResponseComplete', now())).catch(refuse),
    started: (record) => log.write(auditLine(record, 'ResponseStarted', now())),
    ended(record) {
      // If it ended otherwise than was recorded (the deadline passed meanwhile), a second line says so.
      if (record.recordedAs !== record.code) log.write(auditLine(record, 'ResponseComplete', now()));
    },
  };
}
