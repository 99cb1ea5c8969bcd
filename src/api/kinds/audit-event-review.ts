import { Type } from 'typebox';
import { grantReview } from './grant-reviews.ts';
import { flag, int64, text, timestamp } from './meta.ts';

/** The last audit events in the memory of this process. The audit log is the record. */
export const auditEventReviewType = grantReview(
  'AuditEventReview',
  'The last events of the audit log, from the memory of the process that answers. The files are the record.',
  {
    spec: Type.Optional(
      Type.Object(
        {
          cluster: text('Only events about this cluster. Below the path of a cluster it is that cluster.'),
          user: text('Only events of this user, or of callers who acted as this user.'),
          credentialID: text('Only events that issued, revoked or used the token with this id (`jti`).'),
          changesOnly: flag('Leaves out dry runs, and requests that only read, unless they were refused.'),
          failuresOnly: flag('Only requests that were refused or failed: with a status code of 400 or more.'),
          limit: int64('At most so many events; 100 by default, 500 at most.'),
          instance: text('The `status.instance` of the review before.'),
          after: int64('The `status.sequence` of the review before: only later events, if the same process answers.'),
        },
        { goType: 'AuditEventReviewSpec', description: 'Which events.' },
      ),
    ),
    status: Type.Optional(
      Type.Object(
        {
          events: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  auditID: text(),
                  stage: text(),
                  time: text('When the response was complete, or the request was received if there is none yet.'),
                  verb: text(),
                  dryRun: flag('Nothing was changed.'),
                  path: text(),
                  user: text(),
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
                },
                { goType: 'AuditEventSummary' },
              ),
              { goType: '[]AuditEventSummary', description: 'The newest first.' },
            ),
          ),
          incomplete: flag('True when there are more events than are listed.'),
          instance: text('The process that answers.'),
          sequence: int64('For `spec.after`.'),
          since: timestamp('The process has forgotten events from before this time; later ones are in its memory.'),
        },
        { goType: 'AuditEventReviewStatus' },
      ),
    ),
  },
);

/** The fields that callers send. */
export interface AuditEventReview {
  spec?: {
    cluster?: string;
    user?: string;
    credentialID?: string;
    changesOnly?: boolean;
    failuresOnly?: boolean;
    limit?: number;
    instance?: string;
    after?: number;
  };
}

export interface AuditEventSummary {
  readonly auditID?: string;
  readonly stage?: string;
  readonly time?: string;
  readonly verb?: string;
  readonly dryRun?: boolean;
  readonly path?: string;
  readonly user?: string;
  readonly impersonatedUser?: string;
  readonly cluster?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly decision?: string;
  readonly sourceIP?: string;
  readonly userAgent?: string;
  readonly credentialID?: string;
  readonly issuedCredentialID?: string;
  readonly revokedCredentialID?: string;
}
