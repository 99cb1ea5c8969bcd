import { randomUUID } from 'node:crypto';
import { openSync, readSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { Caller } from '../fleet.ts';
import { type Handler, respond } from '../floor-http.ts';
import { AuditLines, auditLine } from './audit-lines.ts';
import { Authentication, type User } from './authentication.ts';
import { begun, RequestMetrics } from './request-metrics.ts';
import { answering, Refusal, respondAudited, startAudited } from './response.ts';

/** What a server of lists may not skip, in the order in which the rows of the study take it on. */
export const LIST_DUTIES = {
  items: 'items selected by their label and copied from those of the fleet',
  authentication: 'caller authenticated: SHA-256 of its token, look-up, expiry',
  audit: 'audit event, Audit-Id',
  metrics: 'metrics and a deadline',
} as const;

type ListDuty = keyof typeof LIST_DUTIES;

export interface ListFloorSettings {
  readonly duties: readonly ListDuty[];
  readonly callers: readonly Caller[];
  /** A list of the whole fleet as Clusterpass writes it, but with each item in a line: see `writeFleetFile`. */
  readonly fleetFile: string;
  readonly auditFile: string;
}

const NO_USER: User = { name: '', groups: [], subjects: [] };
const SELECTOR = /^([\w./-]+)=([\w.-]+)$/;
const OBJECT_REF = { resource: 'clusters', apiGroup: 'clusterregistry.k8s.io', apiVersion: 'v1alpha1' };
const ANNOTATIONS = {
  'authorization.k8s.io/decision': 'allow',
  'authorization.k8s.io/reason': 'decided object by object',
};

/** Clusters of a chunk of a list that is not written whole. */
const CHUNK_ITEMS = 50;
/** Longer lists are written in chunks, so that memory does not hold one for each client. */
const MAX_WHOLE_ITEMS = 500;

/** A floor that lists all clusters, a page of them, or those with a label, with these duties. */
export function listFloor({ duties, callers, fleetFile, auditFile }: ListFloorSettings): Handler {
  const does = (duty: ListDuty): boolean => duties.includes(duty);
  const index = new LabelIndex(linesOf(fleetFile));
  const authentication = does('authentication')
    ? new Authentication({ callers, keys: [], issuerPrefix: '' })
    : undefined;
  const audit = does('audit') ? new AuditLines(auditFile) : undefined;
  const metrics = does('metrics') ? new RequestMetrics() : undefined;
  /** Buffers of responses that were sent. */
  const buffers: Buffer[] = [];
  const take = (length: number): Buffer => {
    const at = buffers.findIndex((each) => each.length >= length);
    return buffers.splice(at, at < 0 ? 0 : 1)[0] ?? Buffer.allocUnsafeSlow(length);
  };
  const writeChunks = (res: ServerResponse, items: readonly Buffer[], from: number): void => {
    const part = { from, to: Math.min(from + CHUNK_ITEMS, items.length) };
    const length = index.lengthOf(items, part);
    const buffer = take(length);
    res.write(index.write(items, part, buffer.subarray(0, length)), () => {
      buffers.push(buffer);
      if (part.to < items.length) writeChunks(res, items, part.to);
      else res.end();
    });
  };

  return (req, res) => {
    if (req.url === '/metrics') return respond(res, 200, Buffer.from(JSON.stringify(metrics?.snapshot)));
    const received = Date.now();
    const end = begun(metrics, res);
    answering(res, end, () => {
      const user = authentication?.callerOf(req).elsewhere ?? NO_USER;
      const [, query = ''] = (req.url ?? '').split('?', 2);
      const items = index.itemsOf(new URLSearchParams(query));
      const whole = { from: 0, to: items.length };
      const length = index.lengthOf(items, whole);
      const auditId = audit === undefined ? '' : randomUUID();
      if (items.length > MAX_WHOLE_ITEMS) {
        startAudited(res, 200, length, auditId);
        writeChunks(res, items, 0);
      } else {
        const buffer = take(length);
        const body = index.write(items, whole, buffer.subarray(0, length));
        respondAudited(res, 200, body, auditId, () => buffers.push(buffer));
      }
      const event = { auditId, req, user, objectRef: OBJECT_REF, received, annotations: ANNOTATIONS };
      audit?.gather(auditLine({ ...event, verb: 'list', code: 200 }));
      end(200);
    });
  };
}

/** Writes a list as `ListFloorSettings.fleetFile` has it. */
export function writeFleetFile(file: string, list: Buffer): Promise<void> {
  const fleet = JSON.parse(list.toString()) as { items: object[] };
  const lines = [{ ...fleet, items: [0] }, ...fleet.items].map((each) => `${JSON.stringify(each)}\n`);
  return writeFile(file, lines.join(''));
}

const READ_BYTES = 256 * 1024;

/** The lines of a file, without the whole of it in memory: the floor's memory is measured, too. */
function* linesOf(file: string): Generator<string> {
  const fd = openSync(file, 'r');
  const chunk = Buffer.alloc(READ_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  for (;;) {
    const length = readSync(fd, chunk);
    if (length === 0) return;
    rest = Buffer.concat([rest, chunk.subarray(0, length)]);
    let start = 0;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
      yield rest.toString('utf8', start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
  }
}

const NEWLINE = 0x0a;
const COMMA = 0x2c;

/** Items of a list, from the first to before the second. */
interface Part {
  readonly from: number;
  readonly to: number;
}

/** Serialized clusters by their labels, in the order of their names. */
class LabelIndex {
  readonly #all: Buffer[] = [];
  readonly #byLabel = new Map<string, Buffer[]>();
  readonly #head: Buffer;
  readonly #tail: Buffer;

  /** The first line is the list with `[0]` as its items; the others are the items. */
  constructor(lines: Iterator<string> & Iterable<string>) {
    const [head = '', tail = ''] = String(lines.next().value).split('[0]', 2);
    this.#head = Buffer.from(`${head}[`);
    this.#tail = Buffer.from(`]${tail}\n`);
    for (const line of lines) {
      const { metadata } = JSON.parse(line) as { metadata: { labels?: Record<string, string> } };
      // Its own memory: the clusters of a fleet are created one by one.
      const bytes = Buffer.from(line);
      this.#all.push(bytes);
      for (const [key, value] of Object.entries(metadata.labels ?? {})) {
        const label = `${key}=${value}`;
        const labelled = this.#byLabel.get(label) ?? [];
        labelled.push(bytes);
        this.#byLabel.set(label, labelled);
      }
    }
  }

  itemsOf(query: URLSearchParams): readonly Buffer[] {
    const selector = query.get('labelSelector');
    if (selector === null) return query.has('limit') ? this.#all.slice(0, Number(query.get('limit'))) : this.#all;
    if (!SELECTOR.test(selector)) throw new Refusal(400, 'not a selector');
    return this.#byLabel.get(selector) ?? [];
  }

  /** The bytes of a part of the list. The first has its head, the last its tail. */
  lengthOf(items: readonly Buffer[], { from, to }: Part): number {
    let length = (from === 0 ? this.#head.length : 0) + (to === items.length ? this.#tail.length : 0);
    for (let index = from; index < to; index++) length += (items[index] as Buffer).length + (index > 0 ? 1 : 0);
    return length;
  }

  write(items: readonly Buffer[], { from, to }: Part, into: Buffer): Buffer {
    let at = 0;
    if (from === 0) {
      into.set(this.#head, 0);
      at = this.#head.length;
    }
    for (let index = from; index < to; index++) {
      if (index > 0) into[at++] = COMMA;
      const item = items[index] as Buffer;
      into.set(item, at);
      at += item.length;
    }
    if (to === items.length) into.set(this.#tail, at);
    return into;
  }
}
