import { approvalPage, clusterPage } from '../api/approval-page.ts';
import type { Catalog } from '../api/catalog.ts';
import { conditionOf } from '../api/clusters/conditions.ts';
import { endpointsInForce } from '../api/clusters/confirmed-endpoint.ts';
import { kindPrefix } from '../api/kind.ts';
import { accessText, requestSpec } from '../api/kinds/access-request-spec.ts';
import { accountText, approvalStatus, type RequestUser } from '../api/kinds/approval.ts';
import { READY_FIELD, WAITING_FIELD } from '../api/kinds/cluster.ts';
import { bundleEnd } from '../api/kinds/cluster-endpoints.ts';
import { statusOf } from '../api/kinds/cluster-spec.ts';
import { PASS_APPROVAL_LABEL, passSpec } from '../api/kinds/pass-spec.ts';
import type { EventType, NotificationItem } from '../api/notification.ts';
import { cleanText, visibleName } from '../lib/text.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { Work } from '../lib/work-queue.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';

/** What holds now. It is an event when it was not known before; one that `ends` another, when that was. */
export interface Fact {
  readonly id: string;
  readonly type: EventType;
  readonly ends?: boolean;
  readonly item: () => NotificationItem;
}

export interface FactParts {
  readonly catalog: Pick<Catalog, 'accessRequests' | 'passes' | 'clusters'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find' | 'ready'>;
  readonly baseUrl: string;
  readonly productName: string;
  /** Keys and certificates of the server, and when they end (epoch milliseconds). */
  readonly keyEnds: () => readonly (readonly [name: string, end: number])[];
  readonly now: () => number;
  readonly work: Work;
}

/** `known`: the ids of the facts that were known before. `withEnds`: the CA of every cluster is read. */
export async function collectFacts(parts: FactParts, known: ReadonlySet<string>, withEnds: boolean): Promise<Fact[]> {
  const { catalog, reader, work, keyEnds } = parts;
  const facts: Fact[] = [];
  for (const [name, end] of withEnds ? keyEnds() : []) facts.push(...endFacts(parts, name, end, { text: name }));
  for (const kind of [catalog.accessRequests, catalog.passes, catalog.clusters]) {
    for (const entry of reader.cache(kind).snapshot.scan(kindPrefix(kind))) {
      if (work.isUsedUp) await work.turn();
      if (kind !== catalog.clusters) facts.push(...approvalFacts(parts, entry));
      else facts.push(...clusterFacts(parts, entry, known, withEnds));
    }
  }
  return facts;
}

const DECISIONS: Readonly<Record<string, string>> = { Approved: 'approved', Ready: 'approved', Denied: 'denied' };

function approvalFacts({ catalog, baseUrl }: FactParts, entry: StoredObject): Fact[] {
  const isPass = entry.kind === catalog.passes;
  const phase = entry.field('status.phase');
  const decision = DECISIONS[phase];
  // Without a review no other person is asked.
  const isReviewed = !isPass || entry.labels?.[PASS_APPROVAL_LABEL] === 'review';
  if (!isReviewed || (decision === undefined && phase !== 'Pending')) return [];
  const item = (): NotificationItem => {
    const object = entry.object();
    const { requestedBy, cluster = '', reason = passSpec(object).purpose, ...spec } = requestSpec(object);
    const nameOf = (user?: RequestUser) => visibleName(user?.username ?? '');
    const { decidedBy, next, conditions } = approvalStatus(object);
    const note = decision === 'approved' ? next && `next: ${next}` : conditions?.at(-1)?.message;
    const decided = `${decision} by ${nameOf(decidedBy)}${note ? ` (${note})` : ''}`;
    const access = isPass ? `a pass of ${accountText(spec)}` : accessText(spec);
    const text = `${nameOf(requestedBy)}: ${access} in ${cluster}, ${decision === undefined ? 'asked for' : decided}. Reason: ${reason}`;
    const resource = isPass ? 'passes' : 'accessrequests';
    return { cluster, text: cleanText(text), url: approvalPage(baseUrl, resource, entry.name) };
  };
  const type = `${isPass ? 'pass' : 'request'}.${decision === undefined ? 'waiting' : 'decided'}` as const;
  return [{ id: `${phase} ${entry.uid}`, type, item }];
}

function clusterFacts(parts: FactParts, entry: StoredObject, known: ReadonlySet<string>, withEnds: boolean): Fact[] {
  const { name: cluster, uid } = entry;
  const url = clusterPage(parts.baseUrl, cluster);
  const itemOf = (text: string): NotificationItem => ({ cluster, text: cleanText(`${cluster}: ${text}`), url });
  const caEnd = () => bundleEnd(endpointsInForce(entry.object(), parts.productName));
  const facts = withEnds ? endFacts(parts, uid, caEnd(), itemOf('its CA')) : [];
  const change = entry.field(WAITING_FIELD);
  const confirm = `check the change, then run: clusterpass confirm ${cluster}`;
  if (change !== '') facts.push({ id: change, type: 'endpoints.waiting', item: () => itemOf(confirm) });
  const id = `ready ${uid}`;
  const ready = entry.field(READY_FIELD);
  // While it is unknown, a cluster that was not ready still counts as that.
  if (ready === 'False' || (ready === 'Unknown' && known.has(id))) {
    const reason = () => conditionOf(statusOf(entry.object()), 'Ready')?.reason ?? 'not ready';
    facts.push({ id, type: 'cluster.not-ready', item: () => itemOf(reason()) });
  }
  if (ready === 'True' && known.has(id))
    facts.push({ id, type: 'cluster.ready', ends: true, item: () => itemOf('ready') });
  return facts;
}

const DAY_MS = 86_400_000;

/** A fact in the last 30 days, and another one in the last 7. */
function endFacts({ now }: FactParts, name: string, end: number, { text, ...item }: NotificationItem): Fact[] {
  const days = [7, 30].find((days) => end - now() < days * DAY_MS);
  if (days === undefined) return [];
  const ending = () => ({ ...item, text: `${text} ends at ${toTimestamp(end)}` });
  return [{ id: `${name} within ${days} days`, type: 'key.ending', item: ending }];
}
