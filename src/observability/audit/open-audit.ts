import { randomUUID } from 'node:crypto';
import { CLOCKS, ClockJumps, type Clocks } from '../../lib/clock-jumps.ts';
import type { Logger } from '../logger.ts';
import { AuditFile, type AuditFileOptions, type VolumeSpace } from './audit-file.ts';
import { type AuditCounts, AuditLog } from './audit-log.ts';
import { RecentEvents } from './recent-events.ts';

type AuditFileSettings = Omit<AuditFileOptions, keyof Clocks | 'isSteady' | 'onProblem'>;

/**
 * Two logs, because any client can send enough rejected requests to fill all files that are kept. They must not push
 * the record of a token out.
 */
export interface AuditLogs {
  /** Every request that is not recorded in `security`. */
  readonly requests: EventLog;
  /** Issued tokens, revocations, and changes of RBAC objects and signing keys. No token leaves before its line. */
  readonly security: EventLog;
  /** The last events of both, in memory. */
  readonly recent: RecentEvents;
  /** Of both. */
  readonly counts: AuditCounts;
  /** By log. Where both have one file, it is that of the security log. */
  readonly files: () => Promise<Readonly<Record<string, AuditFileState>>>;
  close(): Promise<void>;
}

interface AuditFileState {
  /** Written by this process. */
  readonly bytes: number;
  readonly space: VolumeSpace | undefined;
}

/** A log whose lines are also in `recent`. */
interface EventLog extends Pick<AuditLog, 'commit'> {
  /** `isRecent: false` leaves the line out of `recent`. */
  write(line: string, options?: { readonly isRecent: boolean }): void;
}

/** Throws the system's error when a path cannot be used. */
export async function openAuditLogs(
  { audit, securityAudit }: { audit: AuditFileSettings; securityAudit: AuditFileSettings },
  logger: Logger,
): Promise<AuditLogs> {
  const tokens = 'no tokens are issued until it can';
  const [security, securityFile] = await openLog(securityAudit, tokens, logger);
  // A device or a pipe takes the lines of both.
  const isShared = audit.path === securityAudit.path;
  const [requests, requestsFile] = isShared
    ? [security, securityFile]
    : await openLog(audit, 'its events wait in memory until it can', logger);
  const logs = isShared ? [security] : [requests, security];
  const state = async (log: AuditLog, file: AuditFile) => ({ bytes: log.bytesWritten, space: await file.space() });
  const recent = new RecentEvents({ instance: randomUUID(), now: Date.now });
  return {
    requests: alsoIn(recent, 'requests', requests),
    security: alsoIn(recent, 'security', security),
    recent,
    get counts() {
      const counts = logs.map((log) => log.counts);
      return {
        written: sum(counts.map(({ written }) => written)),
        lost: sum(counts.map(({ lost }) => lost)),
        failing: counts.some(({ failing }) => failing),
      };
    },
    files: async () => ({
      ...(isShared ? {} : { requests: await state(requests, requestsFile) }),
      security: await state(security, securityFile),
    }),
    async close() {
      for (const log of logs) await log.close();
    },
  };
}

const alsoIn = (recent: RecentEvents, name: 'requests' | 'security', log: AuditLog): EventLog => ({
  write(line, { isRecent } = { isRecent: true }) {
    if (isRecent) recent.add(line, name);
    log.write(line);
  },
  async commit(line) {
    await log.commit(line);
    recent.add(line, name);
  },
});

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** A full disk may have room later: it stops tokens, not the start of the server. */
const TEMPORARY: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EIO']);

async function openLog(
  settings: AuditFileSettings,
  consequence: string,
  logger: Logger,
): Promise<[AuditLog, AuditFile]> {
  // B31: the clock may have been set before the start, so no file is removed by its age for an hour.
  const jumps = new ClockJumps({ ...CLOCKS, jumpedBefore: true });
  const file = new AuditFile({
    ...settings,
    ...CLOCKS,
    isSteady: () => jumps.isSteady(),
    onProblem: (error) => logger.warn({ err: error }, 'an audit log could not be rotated or removed'),
  });
  await file.open().catch((error: NodeJS.ErrnoException) => {
    if (!TEMPORARY.has(error.code)) throw error;
    logger.error({ err: error }, `the audit log cannot be opened: ${consequence}`);
  });
  return [new AuditLog({ file, logger, consequence }), file];
}
