import type { Static } from 'typebox';
import { grantReview } from './grant-reviews.ts';
import { type BodyOf, flag, int64, list, part, type Read, struct, text, texts, timestamp } from './meta.ts';

const SpecSchema = part('AuditEventReviewSpec', 'Which events.', {
  cluster: text('Only events about this cluster. Below the path of a cluster it is that cluster.'),
  user: text('Only events of this user, or of callers who acted as this user.'),
  credentialID: text('Only events that issued, revoked or used the token with this id (`jti`).'),
  changesOnly: flag('Leaves out dry runs, and requests that only read, unless they were refused.'),
  failuresOnly: flag('Only requests that were refused or failed: with a status code of 400 or more.'),
  limit: int64('At most so many events; 100 by default, 500 at most.'),
  instance: text('The `status.instance` of the review before.'),
  after: int64('The `status.sequence` of the review before: only later events, if the same process answers.'),
});

const EventSchema = struct('AuditEventSummary', '', {
  auditID: text(),
  stage: text(),
  time: text('When the response was complete, or the request was received if there is none yet.'),
  verb: text(),
  dryRun: flag('Nothing was changed.'),
  path: text(),
  user: text(),
  groups: texts('The groups of the user, if it is the one that was asked about.'),
  impersonatedUser: text(),
  cluster: text(),
  group: text(),
  resource: text('With its subresource.'),
  namespace: text(),
  name: text(),
  code: int64('The status code of the response.'),
  reason: text('Of an error.'),
  decision: text('Why the request was allowed or refused.'),
  sourceIP: text(),
  userAgent: text(),
  credentialID: text('The token that was used.'),
  issuedCredentialID: text('The token that was issued.'),
  revokedCredentialID: text('The token that was revoked.'),
});

/** The last audit events in the memory of this process. The audit log is the record. */
export const auditEventReviewType = grantReview(
  'AuditEventReview',
  'The last events of the audit log, from the memory of the process that answers. The files are the record.',
  {
    spec: SpecSchema,
    status: part('AuditEventReviewStatus', '', {
      events: list(EventSchema, { description: 'The newest first.' }),
      incomplete: flag('True when there are more events than are listed.'),
      instance: text('The process that answers.'),
      sequence: int64('For `spec.after`.'),
      since: timestamp('The process has forgotten events from before this time; later ones are in its memory.'),
    }),
  },
);

export type AuditEventReview = BodyOf<typeof auditEventReviewType>;

export type AuditEventSummary = Read<Static<typeof EventSchema>>;
