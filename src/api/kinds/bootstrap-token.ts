import type { Static } from 'typebox';
import type { ApiObject, Kind } from '../kind.ts';
import { validateLabels } from '../names.ts';
import { validateDomainLabels } from '../reserved-keys.ts';
import { type FieldError, forbiddenField, invalidValue, required } from '../status.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { kindSchema, part, SHORT, selectable, serverKind, stringMap, text, texts, timestamp } from './meta.ts';

/** With a bootstrap token a new cluster registers itself, once. The stored object has a digest of the token only. */

const SpecSchema = part('BootstrapTokenSpec', 'What the token can register. Cannot be changed.', {
  tokenDigest: text('`sha256:` and the SHA-256 digest of the token, in hex. The token is not stored.', SHORT),
  namePattern: text('The names that the cluster may have, e.g. `prod-*`.', SHORT),
  labels: stringMap('The labels of the cluster. It has no others.', { maxProperties: 100 }),
  expirationTimestamp: timestamp('When the token expires. An hour after its creation if unset, at most a day.'),
  createdBy: part(
    'BootstrapTokenCreator',
    'Who created the token. The cluster is registered with their permissions. Set by the server.',
    { username: text(), uid: text(), groups: texts() },
  ),
});

const StatusSchema = part('BootstrapTokenStatus', 'Whether the token was used. Set by the server.', {
  cluster: text('The cluster that the token was used for.'),
  usedTimestamp: timestamp('When it was used.'),
  registeredTimestamp: timestamp('When the cluster was created.'),
});

type BootstrapTokenSpec = Static<typeof SpecSchema>;
type BootstrapTokenStatus = Static<typeof StatusSchema>;

export const bootstrapSpec = (object: ApiObject): BootstrapTokenSpec => (object.spec ?? {}) as BootstrapTokenSpec;
export const bootstrapStatus = (object: ApiObject): BootstrapTokenStatus =>
  (object.status ?? {}) as BootstrapTokenStatus;

/** The subresource to which a token is sent with the cluster to register. */
export const JOIN_SUBRESOURCE = 'cluster';

const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Characters of cluster names, and `*` for any number of them. */
const PATTERN = /^[a-z0-9.*-]{1,253}$/;
const MAX_STARS = 3;

/** Whether the pattern matches the whole name. Linear: the parts between the stars are searched one after the other. */
export function matchesPattern(name: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return name === pattern;
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

export const bootstrapTokenKind: Kind = {
  ...serverKind,
  nameRule: 'label',
  indexLabels: true,
  // The server writes the status. No caller updates a token.
  verbs: new Set(['get', 'list', 'watch', 'create', 'delete']),
  expiresAt: (object) => Date.parse(bootstrapSpec(object).expirationTimestamp ?? ''),
  selectableFields: selectable('status.cluster'),
  ...kindSchema('BootstrapToken', 'A token with which one new cluster registers itself, once.', {
    spec: SpecSchema,
    status: StatusSchema,
  }),
  validate: bootstrapErrors,
  columns: [
    nameColumn,
    textColumn('Pattern', 'The names that the cluster may have.', (object) => bootstrapSpec(object).namePattern),
    textColumn('Cluster', 'The cluster that the token was used for.', (object) => bootstrapStatus(object).cluster),
    textColumn('Creator', 'Who created the token.', (object) => bootstrapSpec(object).createdBy?.username),
    textColumn('Expires', 'When the token expires.', (object) => bootstrapSpec(object).expirationTimestamp),
    ageColumn,
  ],
};

function bootstrapErrors(object: ApiObject): FieldError[] {
  const { tokenDigest, namePattern, labels = {} } = bootstrapSpec(object);
  const errors = [...validateLabels(labels, 'spec.labels'), ...validateDomainLabels('Cluster', labels, 'spec.labels')];
  if (tokenDigest === undefined) errors.push(required('spec.tokenDigest'));
  else if (!DIGEST.test(tokenDigest)) {
    errors.push(invalidValue('spec.tokenDigest', tokenDigest, 'must be sha256: and 64 hexadecimal digits'));
  }
  if (namePattern === undefined) errors.push(required('spec.namePattern'));
  else if (!PATTERN.test(namePattern) || namePattern.split('*').length - 1 > MAX_STARS) {
    const rule = `must consist of lower case letters, digits, "-", "." and at most ${MAX_STARS} "*", e.g. prod-*`;
    errors.push(invalidValue('spec.namePattern', namePattern, rule));
  }
  if (object.metadata.finalizers !== undefined) {
    errors.push(forbiddenField('metadata.finalizers', 'a bootstrap token that is deleted must be gone at once'));
  }
  return errors;
}
