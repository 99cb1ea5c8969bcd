import type { Static } from 'typebox';
import type { ApiObject, Kind } from '../kind.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { flag, kindSchema, part, selectable, serverKind, text, timestamp } from './meta.ts';

const PublicKeySchema = part('JSONWebKey', 'The public key, as in the JWKS documents.', {
  use: text('Always `sig`.'),
  kty: text('The type of key: `EC` or `RSA`.'),
  kid: text('The id of the key, which is also the name of the object.'),
  crv: text('The curve.'),
  alg: text('The algorithm of its signatures.'),
  x: text('A coordinate on the curve.'),
  y: text('A coordinate on the curve.'),
  n: text('The modulus.'),
  e: text('The exponent.'),
});

const SpecSchema = part('SigningKeySpec', 'Options of a requested rotation.', {
  algorithm: text('The algorithm whose keys are rotated. The default is that of `--signing-algorithm`.'),
  force: flag('Whether the key signs at once, even if verifiers may not have fetched it yet.'),
});

const StatusSchema = part('SigningKeyStatus', 'The state of the key.', {
  state: text(
    '`Next`: published, and signs later. `Current`: signs. `Retired`: published until its last token has expired. `External`: belongs to the external signer.',
  ),
  algorithm: text('The algorithm of its signatures.'),
  created: timestamp('When the key was published.'),
  signsFrom: timestamp('When the key began to sign; for a next key, when it will, if that is planned.'),
  expires: timestamp('When a retired key is no longer published.'),
  publicKey: PublicKeySchema,
});

export type SigningKeySpec = Static<typeof SpecSchema>;
export type SigningKeyStatus = Static<typeof StatusSchema>;

const statusOf = (object: ApiObject): SigningKeyStatus => (object.status ?? {}) as SigningKeyStatus;

/**
 * The public part of a key that signs tokens. Creating one requests a rotation, deleting one revokes the key. Stored
 * objects of this kind are only shown: verifiers never read keys from them.
 */
export const signingKeyKind: Kind = {
  ...serverKind,
  verbs: new Set(['get', 'list', 'watch', 'create', 'delete']),
  nameRule: 'path-segment',
  selectableFields: selectable('status.state'),
  ...kindSchema('SigningKey', 'A key that signs tokens. The private key is never shown.', {
    spec: SpecSchema,
    status: StatusSchema,
  }),
  validate: () => [],
  columns: [
    nameColumn,
    textColumn('State', 'Whether it signs, will sign or has signed.', (object) => statusOf(object).state ?? null),
    textColumn('Algorithm', 'The algorithm of its signatures.', (object) => statusOf(object).algorithm ?? null),
    textColumn('Signs From', 'When it began to sign, or will.', (object) => statusOf(object).signsFrom ?? null),
    textColumn('Expires', 'When it is no longer published.', (object) => statusOf(object).expires ?? null),
    ageColumn,
  ],
};
