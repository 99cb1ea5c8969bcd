import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Caller } from '../fleet.ts';
import { type Handler, respond } from '../floor-http.ts';
import { AuditLines, auditLine } from './audit-lines.ts';
import { Authentication, type User } from './authentication.ts';
import { begun, RequestMetrics } from './request-metrics.ts';
import { answering, Refusal, respondAudited } from './response.ts';

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
  /** A list of the whole fleet, as Clusterpass writes it. */
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

/** A floor that lists the clusters with a label, with these duties. */
export function listFloor({ duties, callers, fleetFile, auditFile }: ListFloorSettings): Handler {
  const does = (duty: ListDuty): boolean => duties.includes(duty);
  const index = new LabelIndex(readFileSync(fleetFile, 'utf8'));
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

  return (req, res) => {
    if (req.url === '/metrics') return respond(res, 200, Buffer.from(JSON.stringify(metrics?.snapshot)));
    const received = Date.now();
    const end = begun(metrics, res);
    answering(res, end, () => {
      const user = authentication?.callerOf(req).elsewhere ?? NO_USER;
      const [, query = ''] = (req.url ?? '').split('?', 2);
      const items = index.itemsOf(new URLSearchParams(query).get('labelSelector') ?? '');
      const length = index.lengthOf(items);
      const buffer = take(length);
      const body = index.write(items, buffer.subarray(0, length));
      const auditId = audit === undefined ? '' : randomUUID();
      respondAudited(res, 200, body, auditId, () => buffers.push(buffer));
      const event = { auditId, req, user, objectRef: OBJECT_REF, received, annotations: ANNOTATIONS };
      audit?.gather(auditLine({ ...event, verb: 'list', code: 200 }));
      end(200);
    });
  };
}

const COMMA = 0x2c;

/** Serialized clusters by their labels, in the order of their names. */
class LabelIndex {
  readonly #byLabel = new Map<string, Buffer[]>();
  readonly #head: Buffer;
  readonly #tail: Buffer;

  constructor(fleet: string) {
    const list = JSON.parse(fleet) as { items: { metadata: { labels?: Record<string, string> } }[] };
    for (const item of list.items) {
      // Its own memory: the clusters of a fleet are created one by one.
      const bytes = Buffer.from(JSON.stringify(item));
      for (const [key, value] of Object.entries(item.metadata.labels ?? {})) {
        const label = `${key}=${value}`;
        const labelled = this.#byLabel.get(label) ?? [];
        labelled.push(bytes);
        this.#byLabel.set(label, labelled);
      }
    }
    const [head = '', tail = ''] = JSON.stringify({ ...list, items: [0] }).split('[0]', 2);
    this.#head = Buffer.from(`${head}[`);
    this.#tail = Buffer.from(`]${tail}\n`);
  }

  itemsOf(selector: string): readonly Buffer[] {
    if (!SELECTOR.test(selector)) throw new Refusal(400, 'not a selector');
    return this.#byLabel.get(selector) ?? [];
  }

  lengthOf(items: readonly Buffer[]): number {
    let length = this.#head.length + this.#tail.length + Math.max(0, items.length - 1);
    for (const item of items) length += item.length;
    return length;
  }

  write(items: readonly Buffer[], into: Buffer): Buffer {
    into.set(this.#head, 0);
    let at = this.#head.length;
    for (let index = 0; index < items.length; index++) {
      if (index > 0) into[at++] = COMMA;
      const item = items[index] as Buffer;
      into.set(item, at);
      at += item.length;
    }
    into.set(this.#tail, at);
    return into;
  }
}
