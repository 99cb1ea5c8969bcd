import type { AuditEventSummary } from '../../../src/api/kinds/audit-event-review.ts';
import type { AuditEventReviewStatus } from '../../../src/client/fleet-reviews.ts';

/** What the page has read so far. */
export interface EventFeed {
  /** The newest first. */
  readonly events: readonly AuditEventSummary[];
  readonly instance: string;
  readonly sequence: number;
  /** When the process that answered last began to keep events. */
  readonly since: string;
}

export const NO_EVENTS: EventFeed = { events: [], instance: '', sequence: 0, since: '' };

const MAX_EVENTS = 500;

const keyOf = ({ auditID = '', stage = '' }: AuditEventSummary): string => `${auditID} ${stage}`;

/**
 * Adds the events of an answer. Several processes may answer in turn, each with its own events: those of all of them
 * are shown, each once, in the order of their times.
 */
export function addEvents(feed: EventFeed, status: AuditEventReviewStatus): EventFeed {
  const { events = [], instance = '', sequence = 0, since = '' } = status;
  const known = new Set(feed.events.map(keyOf));
  const added = events.filter((event) => !known.has(keyOf(event)));
  const all = added.length === 0 ? feed.events : [...added, ...feed.events].sort(newestFirst).slice(0, MAX_EVENTS);
  return { events: all, instance, sequence, since };
}

const newestFirst = ({ time: a = '' }: AuditEventSummary, { time: b = '' }: AuditEventSummary): number =>
  a < b ? 1 : a > b ? -1 : 0;

/** `create serviceaccounts/token ci/builder`. */
export function actionOf({
  verb = '',
  resource = '',
  namespace = '',
  name = '',
  path = '',
}: AuditEventSummary): string {
  if (resource === '') return `${verb} ${path}`;
  const object = [namespace, name].filter((part) => part !== '').join('/');
  return [verb, resource, object].filter((part) => part !== '').join(' ');
}
