import { type Static, Type } from 'typebox';
import type { ApiObject, Kind } from '../kind.ts';
import { tokenIdErrors, userReference } from './issued-token.ts';
import { always, kindSchema, struct, timestamp } from './meta.ts';
import { serverKind } from './server-kind.ts';

const SpecSchema = struct('RevokedTokenSpec', '', {
  revokedBy: always(userReference('')),
  // Of the token. The record is removed then.
  expirationTimestamp: always(timestamp()),
});

export type RevokedTokenSpec = Static<typeof SpecSchema>;

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
  ...kindSchema('RevokedToken', '', { spec: Type.Optional(SpecSchema) }),
  validate: ({ metadata }) => tokenIdErrors(metadata.name ?? ''),
  columns: [],
};
