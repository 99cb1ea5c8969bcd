import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import { forbiddenField, invalidValue } from '../field-error.ts';
import type { ApiObject, Kind } from '../kind.ts';
import type { Verb } from '../request.ts';
import { conditionSchema, NAME, userSchema } from './access-request.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import {
  CLUSTERPASS_GROUP,
  CLUSTERPASS_VERSION,
  flag,
  int64,
  SHORT,
  text,
  texts,
  timestamp,
  typeMeta,
} from './meta.ts';
import { isHandle, isLivePhase, MAX_CLIENT_NAME, passErrors, passExpiry, passSpec, passStatus } from './pass-spec.ts';

/** Derived fields: when the pass ends, and when it was denied or has ended; `""` for a live one. */
export const PASS_EXPIRY_FIELD = 'status.expirationTimestamp';
export const PASS_FINISHED_FIELD = 'status.finishedTimestamp';

/** A handle that is redeemed more often is used by something that does not cache its credential. */
export const MAX_PASS_TOKENS = 32;

const SpecSchema = Type.Object(
  {
    cluster: text('The cluster.', NAME),
    serviceAccount: Type.Optional(
      Type.Object(
        { namespace: text('The namespace of the account.', NAME), name: text('The name of the account.', NAME) },
        { goType: 'ServiceAccountReference', description: 'The service account whose token the pass gives.' },
      ),
    ),
    audiences: texts('The audiences of the token; empty for the API of the cluster.'),
    durationSeconds: int64('How long the pass can be used. Ten minutes if unset, fifteen at most.'),
    purpose: text('What the pass is for, in one line of 8 to 200 characters. Approvers and auditors read it.', SHORT),
    codeChallenge: text(
      'The SHA-256, in base64url, of a secret that is needed to redeem the pass (S256 of RFC 7636); unset for none.',
      SHORT,
    ),
    requestedBy: userSchema('The requester, as the cluster knows it. Set by the server.'),
    client: Type.Optional(
      Type.Object(
        {
          id: text(
            'The client, as its token says; `login` if it uses the login of a person. Set by the server.',
            SHORT,
          ),
          name: text('What the client calls itself.', { maxLength: MAX_CLIENT_NAME }),
        },
        { goType: 'PassClient', description: 'The agent that asks for the requester; absent if it is a person.' },
      ),
    ),
  },
  { goType: 'PassSpec', description: 'What the pass is for. Cannot be changed.' },
);

const StatusSchema = Type.Object(
  {
    phase: text('`Ready`, `Pending`, `Denied` or `Ended`.'),
    approval: text('What the pass needs: `none`, `confirm` by the requester, or `review` by another person.'),
    conditions: Type.Optional(
      Type.Array(conditionSchema('`Approved`, `Denied` or `Ended`.', 'PassCondition'), {
        goType: '[]PassCondition',
        maxItems: 8,
        listMapKeys: ['type'],
        description: 'Decisions about the pass, and its end. The subresource `approval` adds one.',
      }),
    ),
    decidedBy: userSchema('Who approved or denied it.'),
    decisionTimestamp: timestamp('When it was approved or denied.'),
    clusterUID: text('The UID of the cluster that the pass is for. A later cluster of the same name has another one.'),
    serviceAccountUID: text(
      'The UID of the service account that the pass is for; empty if the account is only known to its cluster.',
    ),
    bindingRef: Type.Optional(
      Type.Object(
        {
          kind: text('`RoleBinding` or `ClusterRoleBinding`.'),
          namespace: text(),
          name: text(),
          resourceVersion: text('A pending pass ends when the binding changes.'),
        },
        { goType: 'PassBinding', description: 'The binding that allows the pass.' },
      ),
    ),
    expirationTimestamp: timestamp('When a pending pass is given up, or when the pass ends.'),
    tokens: Type.Optional(
      Type.Array(
        Type.Object(
          {
            id: text('The id of the token, its claim `jti`; empty if a cluster has issued it without a UUID.'),
            expirationTimestamp: timestamp(),
            revocable: flag('False if the cluster has issued the token: it accepts it until it expires.'),
          },
          { goType: 'PassToken', description: 'A token that was issued for the pass.' },
        ),
        { goType: '[]PassToken', maxItems: MAX_PASS_TOKENS, description: 'The tokens that were issued for the pass.' },
      ),
    ),
  },
  { goType: 'PassStatus', description: 'The state of the pass. Set by the server.' },
);

const accountText = (object: ApiObject): string => {
  const { serviceAccount } = passSpec(object);
  return `${serviceAccount?.namespace}/${serviceAccount?.name}`;
};

const finishedAt = (object: ApiObject): string => {
  const { phase = '', conditions = [] } = passStatus(object);
  return isLivePhase(phase) ? '' : (conditions.at(-1)?.lastTransitionTime ?? '');
};

/** No collection is deleted at once: the tokens of each pass are revoked first. */
const VERBS: ReadonlySet<Verb> = new Set<Verb>(['get', 'list', 'watch', 'create', 'delete']);

/** A handle for tokens of one service account, for one purpose and some minutes. See ADR 39. */
export const passKind: Kind = {
  group: CLUSTERPASS_GROUP,
  version: CLUSTERPASS_VERSION,
  kind: 'Pass',
  listKind: 'PassList',
  resource: 'passes',
  singular: 'pass',
  shortNames: [],
  style: 'custom',
  inCluster: false,
  namespaced: false,
  hasStatus: true,
  statusSubresource: 'approval',
  countsGenerations: false,
  // Handles have an underscore.
  nameRule: 'path-segment',
  verbs: VERBS,
  indexLabels: true,
  selectableFields: {
    'spec.cluster': (object) => passSpec(object).cluster ?? '',
    'spec.requestedBy.username': (object) => passSpec(object).requestedBy?.username ?? '',
    'spec.serviceAccount.name': (object) => passSpec(object).serviceAccount?.name ?? '',
    'spec.serviceAccount.namespace': (object) => passSpec(object).serviceAccount?.namespace ?? '',
    'status.phase': (object) => passStatus(object).phase ?? '',
  },
  derivedFields: {
    [PASS_EXPIRY_FIELD]: (object) => passStatus(object).expirationTimestamp ?? '',
    [PASS_FINISHED_FIELD]: finishedAt,
  },
  ...bodySchema(
    Type.Object(
      { ...typeMeta, spec: Type.Optional(SpecSchema), status: Type.Optional(StatusSchema) },
      { goType: 'Pass', description: 'A handle for tokens of a service account, which its requester redeems.' },
    ),
  ),
  validate: (object, old) => {
    const name = object.metadata.name ?? '';
    const errors = passErrors(object);
    if (!isHandle(name)) errors.push(invalidValue('metadata.name', name, 'must be a handle that the server has made'));
    if (old === undefined || isDeepStrictEqual(passSpec(object), passSpec(old))) return errors;
    return [...errors, forbiddenField('spec', 'cannot be changed: ask for another pass')];
  },
  columns: [
    nameColumn,
    textColumn('Requester', 'Who asks.', (object) => passSpec(object).requestedBy?.username),
    textColumn('Client', 'The agent that asks for the requester.', (object) => passSpec(object).client?.id),
    textColumn('Cluster', 'The cluster.', (object) => passSpec(object).cluster),
    textColumn('Account', 'The service account.', accountText),
    textColumn('Phase', 'Pending, Ready, Denied or Ended.', (object) => passStatus(object).phase),
    textColumn('Expires', 'When it ends. Empty once it was denied or has ended.', passExpiry),
    textColumn('Purpose', 'What it is for.', (object) => passSpec(object).purpose, 1),
    textColumn('Approval', 'The approval that it needs.', (object) => passStatus(object).approval, 1),
    textColumn('Decided By', 'Who approved or denied it.', (object) => passStatus(object).decidedBy?.username, 1),
    textColumn(
      'Message',
      'The message of the last decision.',
      (object) => passStatus(object).conditions?.at(-1)?.message,
      1,
    ),
    ageColumn,
  ],
};
