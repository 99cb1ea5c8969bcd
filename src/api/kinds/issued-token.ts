import type { Static } from 'typebox';
import type { ApiObject, Kind, TableColumn } from '../kind.ts';
import { isTokenId } from '../names.ts';
import { type FieldError, invalidValue } from '../status.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { always, kindSchema, part, selectable, serverKind, text, texts, timestamp } from './meta.ts';

/** On every IssuedToken: equal for the tokens that one caller requested. */
export const REQUESTER_LABEL = 'clusterpass.dev/requested-by';

/**
 * On every IssuedToken: equal for the tokens that count for one caller. A token that was requested with a tracked pass
 * counts for the caller who requested that one; with another token of a service account, for the accounts of its
 * cluster together.
 */
export const COUNTED_LABEL = 'clusterpass.dev/counted-for';

/** The uid of the FleetRoleBinding that allowed the token. */
export const BINDING_LABEL = 'clusterpass.dev/binding-uid';

/** A user under the name of requests about no cluster. */
const userReference = (description: string) =>
  part('UserReference', description, { username: always(text()), uid: text() });

const SpecSchema = part('IssuedTokenSpec', 'What was granted, and to which account.', {
  cluster: always(text('The cluster that the token is for.')),
  serviceAccount: part('ServiceAccountReference', 'The service account of the token.', {
    namespace: always(text()),
    name: always(text()),
    uid: always(text()),
  }),
  user: part('PersonReference', 'The person of a pass for a person.', { username: always(text()) }),
  audiences: always(texts('The audiences of the token.')),
  boundObjectRef: part('BoundObjectReference', 'The object that the token is bound to.', {
    kind: always(text('`Pod` or `Secret`.')),
    name: always(text()),
    uid: text(),
  }),
  requestedBy: always(userReference('The caller who requested the token.')),
  fleetRoleBinding: part('BindingReference', 'The binding that allowed the token, which ends with it.', {
    name: always(text()),
    uid: always(text()),
  }),
  issuedTimestamp: always(timestamp('When the token was issued.')),
  expirationTimestamp: always(timestamp('When the token expires.')),
});

export type IssuedTokenSpec = Static<typeof SpecSchema>;

export const BINDING_FIELD = 'spec.fleetRoleBinding.name';

const specOf = (object: ApiObject): Partial<IssuedTokenSpec> => (object.spec ?? {}) as Partial<IssuedTokenSpec>;

const column = (name: string, description: string, cell: (spec: Partial<IssuedTokenSpec>) => string): TableColumn =>
  textColumn(name, description, (object) => cell(specOf(object)));

const accountOf = ({ serviceAccount, user }: Partial<IssuedTokenSpec>): string =>
  serviceAccount === undefined ? (user?.username ?? '') : `${serviceAccount.namespace}/${serviceAccount.name}`;

export const tokenIdErrors = (name: string): FieldError[] =>
  isTokenId(name)
    ? []
    : [
        invalidValue(
          'metadata.name',
          name,
          'must be the id of a token (its claim jti): a UUID in lower case, e.g. 2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d',
        ),
      ];

/** A record of an issued token, stored if the request asked for it. It does not contain the token. */
export const issuedTokenKind: Kind = {
  ...serverKind,
  nameRule: 'subdomain',
  // Created when a token is issued, removed when it expires, deleted to revoke it. It cannot be updated.
  verbs: new Set(['get', 'list', 'watch', 'delete']),
  indexLabels: true,
  expiresAt: (object) => Date.parse(specOf(object).expirationTimestamp ?? ''),
  selectableFields: selectable(
    BINDING_FIELD,
    'spec.cluster',
    'spec.requestedBy.username',
    'spec.serviceAccount.name',
    'spec.serviceAccount.namespace',
    'spec.user.username',
  ),
  ...kindSchema(
    'IssuedToken',
    'A record of an issued token, named by the id of the token. Deleting it revokes the token.',
    { spec: SpecSchema },
  ),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [
    nameColumn,
    column('Cluster', 'The cluster that the token is for.', ({ cluster }) => cluster ?? ''),
    column('Account', 'The service account, or the person, of the token.', accountOf),
    column('Audience', 'The audiences of the token.', ({ audiences }) => (audiences ?? []).join(',')),
    column('Caller', 'The caller who requested the token.', ({ requestedBy }) => requestedBy?.username ?? ''),
    { ...ageColumn, name: 'Issued', description: 'When the token was issued.' },
    column('Expires', 'When the token expires.', ({ expirationTimestamp }) => expirationTimestamp ?? ''),
  ],
};

const RevocationSchema = part('RevokedTokenSpec', '', {
  revokedBy: always(userReference('')),
  // Of the token. The record is removed then.
  expirationTimestamp: always(timestamp()),
});

export type RevokedTokenSpec = Static<typeof RevocationSchema>;

const revocationOf = (object: ApiObject): Partial<RevokedTokenSpec> => (object.spec ?? {}) as Partial<RevokedTokenSpec>;

/**
 * The revocation of a token, by its id. It is not served: no path and no discovery document names it. It is stored like
 * any object, so that every replica receives it through the watch of the store.
 */
export const revokedTokenKind: Kind = {
  ...serverKind,
  nameRule: 'subdomain',
  verbs: new Set(),
  indexLabels: true,
  // A damaged value must not make a revoked token valid.
  existsUnreadable: true,
  expiresAt: (object) => Date.parse(revocationOf(object).expirationTimestamp ?? ''),
  ...kindSchema('RevokedToken', '', { spec: RevocationSchema }),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [],
};
