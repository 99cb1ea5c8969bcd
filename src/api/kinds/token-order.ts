import type { Static } from 'typebox';
import type { ApiObject, Kind } from '../kind.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { tokenIdErrors } from './issued-token.ts';
import { kindSchema, part, SHORT, serverKind, text, timestamp } from './meta.ts';

/** An answer holds one token, and a signed order one request. */
const MAX_LENGTH = 131_072;

const SpecSchema = part('TokenOrderSpec', 'What the connector is to do. Cannot be changed.', {
  order: text('The signed order: a JWS of the issuer of the cluster.', { maxLength: MAX_LENGTH }),
  expirationTimestamp: timestamp('Until when it can be claimed and answered.'),
});

const StatusSchema = part('TokenOrderStatus', 'What became of it.', {
  claimedBy: text('The connector that does it. Set once.', SHORT),
  claimTime: timestamp('When it was claimed.'),
  answer: text('The answer: a JWE, which only the process that waits can read.', { maxLength: MAX_LENGTH }),
  phase: text('`Issued` while a revocable token of it lives. Set by the server.', SHORT),
  expirationTimestamp: timestamp('When that token ends. Set by the server.'),
});

export type TokenOrderSpec = Static<typeof SpecSchema>;
export type TokenOrderStatus = Static<typeof StatusSchema>;

export const orderSpec = (object: ApiObject): TokenOrderSpec => (object.spec ?? {}) as TokenOrderSpec;
export const orderStatus = (object: ApiObject): TokenOrderStatus => (object.status ?? {}) as TokenOrderStatus;

export const ISSUED = 'Issued';

/**
 * A token that the connector of a cluster is to create. The server creates and deletes it. What the connector made for
 * it lives as long as the order.
 */
export const tokenOrderKind: Kind = {
  ...serverKind,
  inCluster: true,
  hasStatus: true,
  nameRule: 'subdomain',
  verbs: new Set(['get', 'list', 'watch']),
  expiresAt: (object) => {
    const { phase, expirationTimestamp } = orderStatus(object);
    return Date.parse((phase === ISSUED ? expirationTimestamp : orderSpec(object).expirationTimestamp) ?? '');
  },
  ...kindSchema('TokenOrder', 'A token that the connector of the cluster is to create.', {
    spec: SpecSchema,
    status: StatusSchema,
  }),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [
    nameColumn,
    textColumn('Phase', '`Issued` while a revocable token lives.', (object) => orderStatus(object).phase),
    ageColumn,
  ],
};
