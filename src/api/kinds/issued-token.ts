import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import { type FieldError, invalidValue } from '../field-error.ts';
import type { ApiObject, Kind, TableColumn } from '../kind.ts';
import type { Verb } from '../request.ts';
import { ageColumn, nameColumn } from '../table-columns.ts';
import { text, texts, timestamp, typeMeta } from './meta.ts';
import { OWN_GROUP, OWN_VERSION } from './own-group.ts';

/** On every issued token: equal for those that one caller asked for. */
export const REQUESTER_LABEL = 'clusterpass.dev/requested-by';

export interface IssuedTokenSpec {
  cluster: string;
  serviceAccount: { namespace: string; name: string; uid: string };
  audiences: string[];
  boundObjectRef?: { kind: string; name: string; uid: string };
  /** Who asked for it, by the name that holds in the whole fleet. */
  requestedBy: { username: string; uid?: string };
  issuedTimestamp: string;
  expirationTimestamp: string;
}

const specOf = (object: ApiObject): Partial<IssuedTokenSpec> => (object.spec ?? {}) as Partial<IssuedTokenSpec>;

const column = (name: string, description: string, cell: (spec: Partial<IssuedTokenSpec>) => string): TableColumn => ({
  name,
  type: 'string',
  format: '',
  description,
  priority: 0,
  cell: (object) => cell(specOf(object)),
});

const accountOf = ({ serviceAccount }: Partial<IssuedTokenSpec>): string =>
  serviceAccount === undefined ? '' : `${serviceAccount.namespace}/${serviceAccount.name}`;

const JTI = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id of a token, as it is in its claim `jti`. */
export const isTokenId = (text: string): boolean => JTI.test(text);

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

/** Made when a token is issued, gone when it ends, and revoked by deletion: nobody writes to it in between. */
const VERBS: ReadonlySet<Verb> = new Set<Verb>(['get', 'list', 'watch', 'delete']);

/** A token that is out, for those who asked for a record of it. The token itself is nowhere in it. */
export const issuedTokenKind: Kind = {
  group: OWN_GROUP,
  version: OWN_VERSION,
  kind: 'IssuedToken',
  listKind: 'IssuedTokenList',
  resource: 'issuedtokens',
  singular: 'issuedtoken',
  shortNames: [],
  style: 'custom',
  inCluster: false,
  namespaced: false,
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  verbs: VERBS,
  indexLabels: true,
  expiresAt: (object) => Date.parse(specOf(object).expirationTimestamp ?? ''),
  selectableFields: {
    'spec.cluster': (object) => specOf(object).cluster ?? '',
    'spec.requestedBy.username': (object) => specOf(object).requestedBy?.username ?? '',
    'spec.serviceAccount.name': (object) => specOf(object).serviceAccount?.name ?? '',
    'spec.serviceAccount.namespace': (object) => specOf(object).serviceAccount?.namespace ?? '',
  },
  ...bodySchema(
    Type.Object(
      {
        ...typeMeta,
        spec: Type.Optional(
          Type.Object(
            {
              cluster: text('The cluster whose account it is.'),
              serviceAccount: Type.Optional(
                Type.Object(
                  { namespace: text(), name: text(), uid: text() },
                  { goType: 'ServiceAccountReference', description: 'The account that its bearer is.' },
                ),
              ),
              audiences: texts('Who is to accept it.'),
              boundObjectRef: Type.Optional(
                Type.Object(
                  { kind: text('`Pod` or `Secret`.'), name: text(), uid: text() },
                  { goType: 'BoundObjectReference', description: 'The object that it ends with.' },
                ),
              ),
              requestedBy: Type.Optional(
                Type.Object(
                  { username: text(), uid: text() },
                  { goType: 'UserReference', description: 'The caller who asked for it.' },
                ),
              ),
              issuedTimestamp: timestamp('When it was issued.'),
              expirationTimestamp: timestamp('When it ends.'),
            },
            { goType: 'IssuedTokenSpec', description: 'What was granted, and to whom.' },
          ),
        ),
      },
      { goType: 'IssuedToken', description: 'A token that is out. Named by its id; deleting it revokes the token.' },
    ),
  ),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [
    nameColumn,
    column('Cluster', 'The cluster whose account it is.', ({ cluster }) => cluster ?? ''),
    column('Account', 'The account that its bearer is.', accountOf),
    column('Audience', 'Who is to accept it.', ({ audiences }) => (audiences ?? []).join(',')),
    column('Caller', 'Who asked for it.', ({ requestedBy }) => requestedBy?.username ?? ''),
    { ...ageColumn, name: 'Issued', description: 'When it was issued.' },
    column('Expires', 'When it ends.', ({ expirationTimestamp }) => expirationTimestamp ?? ''),
  ],
};
