import type { ApiObject, Kind } from '../kind.ts';
import { tokenIdErrors } from './issued-token.ts';
import { kindSchema, part, text, timestamp } from './meta.ts';
import { serverKind } from './server-kind.ts';

export interface RevokedTokenSpec {
  revokedBy: { username: string; uid?: string };
  /** When the token expires. The record is removed then. */
  expirationTimestamp: string;
}

const specOf = (object: ApiObject): Partial<RevokedTokenSpec> => (object.spec ?? {}) as Partial<RevokedTokenSpec>;

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
  expiresAt: (object) => Date.parse(specOf(object).expirationTimestamp ?? ''),
  selectableFields: {},
  ...kindSchema('RevokedToken', '', {
    spec: part('RevokedTokenSpec', '', {
      revokedBy: part('UserReference', '', { username: text(), uid: text() }),
      expirationTimestamp: timestamp(),
    }),
  }),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [],
};
