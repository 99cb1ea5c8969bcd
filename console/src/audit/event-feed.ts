import type { AuditEventSummary } from '../../../src/api/kinds/audit-event-review.ts';
import type { AuditEventReviewStatus } from '../../../src/client/access-reviews.ts';

/** What the page has read so far. */
export interface EventFeed {
  /** The newest first. */
  readonly events: readonly AuditEventSummary[];
  readonly instance: string;
  readonly sequence: number;
  /** How far back the memory of the process that answered last reaches. */
  readonly since: string;
  /** There are matching events before the oldest one of `events`. */
  readonly isIncomplete: boolean;
}

export const NO_EVENTS: EventFeed = { events: [], instance: '', sequence: 0, since: '', isIncomplete: false };

const MAX_EVENTS = 500;

export const keyOf = ({ auditID = '', stage = '' }: AuditEventSummary): string => `${auditID} ${stage}`;

/**
 * Adds the events of an answer. Several processes may answer in turn, each with its own events: those of all of them
 * are shown, each once, in the order of their times. An incomplete answer lacks events before its oldest one: known
 * events from before that time are dropped, so that the list has no gap.
 */
export function addEvents(feed: EventFeed, status: AuditEventReviewStatus): EventFeed {
  const { events = [], incomplete = false, instance = '', sequence = 0, since = '' } = status;
  const oldest = events.at(-1)?.time ?? '';
  const kept = incomplete ? feed.events.filter(({ time = '' }) => time >= oldest) : feed.events;
  const known = new Set(kept.map(keyOf));
  const added = events.filter((event) => !known.has(keyOf(event)));
  const all = added.length === 0 ? kept : [...added, ...kept].sort(newestFirst);
  const shown = all.length > MAX_EVENTS ? all.slice(0, MAX_EVENTS) : all;
  const isIncomplete = feed.isIncomplete || incomplete || all.length > MAX_EVENTS;
  return { events: shown, instance, sequence, since, isIncomplete };
}

const newestFirst = ({ time: a = '' }: AuditEventSummary, { time: b = '' }: AuditEventSummary): number =>
  a < b ? 1 : a > b ? -1 : 0;

/** `create serviceaccounts/token ci/builder (dry run)`. */
export function actionOf(event: AuditEventSummary): string {
  const { verb = '', resource = '', namespace = '', name = '', path = '', dryRun = false, stage = '' } = event;
  const object = resource === '' ? path : [namespace, name].filter((part) => part !== '').join('/');
  const notes = [dryRun ? '(dry run)' : '', stage === 'ResponseStarted' ? '(started)' : ''];
  return [verb, resource, object, ...notes].filter((part) => part !== '').join(' ');
}

/** `403 Forbidden`; `""` while there is no response. */
export const resultOf = ({ code = 0, reason = '' }: AuditEventSummary): string =>
  [code === 0 ? '' : String(code), reason].filter((part) => part !== '').join(' ');

/** The passes that a request is about, and the one that authenticated its caller. */
export function passesOf(event: AuditEventSummary): readonly { readonly use: string; readonly id: string }[] {
  const passes = { issued: event.issuedCredentialID, revoked: event.revokedCredentialID, used: event.credentialID };
  return Object.entries(passes).flatMap(([use, id]) => (id === undefined ? [] : [{ use, id }]));
}
