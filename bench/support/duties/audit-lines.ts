import { constants, openSync, write } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { microTime } from '../../../src/observability/audit/server-event.ts';
import type { User } from './authentication.ts';

/** As Clusterpass opens its audit log: a write returns when it is on the disk. */
const APPEND = constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY | constants.O_DSYNC;
/** How long lines that no response waits for are collected, as in Clusterpass. */
const GATHER_MS = 50;

interface Line {
  readonly text: string;
  readonly onDurable?: (() => void) | undefined;
}

/** Duty: audit events are durable. Those of one tick share a write. A failed write ends the server. */
export class AuditLines {
  readonly #fd: number;
  #lines: Line[] = [];
  #isBusy = false;
  #isGathering = false;

  constructor(file: string) {
    this.#fd = openSync(file, APPEND, 0o600);
  }

  /** Calls back when the line is on the disk. */
  commit(text: string, onDurable: () => void): void {
    this.#lines.push({ text, onDurable });
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(this.#write);
  }

  /** For lines that no response waits for. */
  gather(text: string): void {
    this.#lines.push({ text });
    if (this.#isGathering) return;
    this.#isGathering = true;
    setTimeout(() => {
      this.#isGathering = false;
      if (this.#isBusy) return;
      this.#isBusy = true;
      this.#write();
    }, GATHER_MS);
  }

  readonly #write = (): void => {
    const lines = this.#lines;
    this.#lines = [];
    let text = '';
    for (const line of lines) text += `${line.text}\n`;
    const bytes = Buffer.from(text);
    write(this.#fd, bytes, 0, bytes.length, null, (error, written) => {
      if (error !== null || written !== bytes.length) throw error ?? new Error('the disk took a part only');
      for (const { onDurable } of lines) onDurable?.();
      this.#isBusy = this.#lines.length > 0 && !this.#isGathering;
      // Two ticks, as in Clusterpass: in the first the responses leave, and by the second most clients have sent their
      // next request. Otherwise there are twice as many writes.
      if (this.#isBusy) setImmediate(() => setImmediate(this.#write));
    });
  };
}

export interface Audited {
  readonly auditId: string;
  readonly req: IncomingMessage;
  readonly user: User;
  readonly objectRef: object;
  /** Epoch milliseconds. */
  readonly received: number;
  readonly annotations: object;
  /** Of the request and of its response; default: a create that succeeded. */
  readonly verb?: string;
  readonly code?: number;
}

/** An event with the fields that Clusterpass writes. */
export function auditLine(audited: Audited): string {
  const { auditId, req, user, objectRef, received, annotations, verb = 'create', code = 201 } = audited;
  const { name, uid, groups, extra } = user;
  return JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: auditId,
    stage: 'ResponseComplete',
    requestURI: req.url,
    verb,
    user: { username: name, uid, groups, extra },
    sourceIPs: [req.socket.remoteAddress],
    objectRef,
    responseStatus: { metadata: {}, code },
    requestReceivedTimestamp: microTime(received),
    stageTimestamp: microTime(Date.now()),
    annotations,
  });
}
