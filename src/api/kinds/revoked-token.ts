import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import type { ApiObject, Kind } from '../kind.ts';
import { tokenIdErrors } from './issued-token.ts';
import { text, timestamp, typeMeta } from './meta.ts';
import { OWN_GROUP, OWN_VERSION } from './own-group.ts';

export interface RevokedTokenSpec {
  revokedBy: { username: string; uid?: string };
  /** When the token would have ended in any case, and this record with it. */
  expirationTimestamp: string;
}

const specOf = (object: ApiObject): Partial<RevokedTokenSpec> => (object.spec ?? {}) as Partial<RevokedTokenSpec>;

/**
 * That a token is not accepted any more, by its id. Our own bookkeeping: it is in no discovery document and has no
 * path. It is kept like any object, so that every replica hears of it through the watch of the store.
 */
export const revokedTokenKind: Kind = {
  group: OWN_GROUP,
  version: OWN_VERSION,
  kind: 'RevokedToken',
  listKind: 'RevokedTokenList',
  resource: 'revokedtokens',
  singular: 'revokedtoken',
  shortNames: [],
  style: 'custom',
  inCluster: false,
  namespaced: false,
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  verbs: new Set(),
  expiresAt: (object) => Date.parse(specOf(object).expirationTimestamp ?? ''),
  selectableFields: {},
  ...bodySchema(
    Type.Object(
      {
        ...typeMeta,
        spec: Type.Optional(
          Type.Object(
            {
              revokedBy: Type.Optional(Type.Object({ username: text(), uid: text() }, { goType: 'UserReference' })),
              expirationTimestamp: timestamp(),
            },
            { goType: 'RevokedTokenSpec' },
          ),
        ),
      },
      { goType: 'RevokedToken' },
    ),
  ),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [],
};
