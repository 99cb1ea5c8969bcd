import type { Static } from 'typebox';
import { LOST_SECONDS } from '../connector.ts';
import type { ApiObject, Kind, TableColumn } from '../kind.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { flag, int64, kindSchema, list, part, SHORT, serverKind, struct, text, texts, timestamp } from './meta.ts';

/** A key set has a handful of public keys. */
const MAX_KEYS_LENGTH = 32_768;

const keysText = (about: string) =>
  text(`The JWKS of the cluster's issuer, as JSON${about}`, { maxLength: MAX_KEYS_LENGTH });

const SpecSchema = part('ConnectorSpec', 'Whose tokens identify the connector. Set at its registration.', {
  clusterUID: text('The UID of the Cluster: a later cluster of the same name has another one.', SHORT),
  issuer: text('The issuer of its tokens.', SHORT),
  subject: text('The subject of its tokens: `system:serviceaccount:<namespace>:<name>`.', SHORT),
  accountUID: text('The UID of that service account.', SHORT),
  keys: keysText(' at the registration.'),
});

/** Also an entry of a connector's configuration. */
export const AllowanceSchema = struct('ConnectorAllowance', 'For which accounts of a namespace it issues tokens.', {
  namespace: text('The namespace.', SHORT),
  accounts: texts('The accounts; `*` for all.', SHORT),
  maxSeconds: int64('The longest lifetime.'),
});

const StatusSchema = part('ConnectorStatus', 'What the connector reports. It enforces its own rules itself.', {
  version: text('The version of the connector.', SHORT),
  contract: int64('The version of the contract that it speaks.'),
  renewTime: timestamp(`When it last reported. After ${LOST_SECONDS} seconds it counts as not connected.`),
  connectedSince: timestamp('Since when it reports without a gap.'),
  lastOrderTime: timestamp('When it last answered an order.'),
  keys: keysText(', if it has changed since the registration: these verify the tokens of the connector.'),
  clusterVersion: text('The version that the cluster runs.', SHORT),
  ready: flag('Whether the API server says that it is ready.'),
  readyMessage: text('Why not.', { maxLength: 1_024 }),
  nodes: part('ConnectorNodes', 'The nodes of the cluster.', {
    ready: int64('How many are ready.'),
    total: int64('How many there are.'),
  }),
  revocable: flag('Whether it binds tokens to Secrets, so that they can be revoked.'),
  people: texts('The groups for whose people it issues tokens.', SHORT),
  allow: list(AllowanceSchema, {
    maxItems: 1_000,
    description: 'What the owner of the cluster allows it to issue.',
  }),
});

export type ConnectorSpec = Static<typeof SpecSchema>;
export type ConnectorStatus = Static<typeof StatusSchema>;
export type Connector = ApiObject & { readonly spec?: ConnectorSpec; readonly status?: ConnectorStatus };

export const connectorSpec = (object: ApiObject): ConnectorSpec => (object.spec ?? {}) as ConnectorSpec;
export const connectorStatus = (object: ApiObject): ConnectorStatus => (object.status ?? {}) as ConnectorStatus;

/** The JWKS that verifies the tokens of the connector now. */
export const keysOf = (object: ApiObject): string => connectorStatus(object).keys ?? connectorSpec(object).keys ?? '';

/** The derived field with whose tokens these are, and the keys that verify them. */
export const IDENTITY_FIELD = 'identity';
export const identityText = ({ clusterUID, issuer, subject, accountUID, keys }: ConnectorSpec): string =>
  JSON.stringify([clusterUID, issuer, subject, accountUID, keys]);

/** Whether it has reported within the last minute. */
export const isConnected = ({ renewTime = '' }: ConnectorStatus, now: number): boolean =>
  Date.parse(renewTime) > now - LOST_SECONDS * 1000;

const dateColumn = (
  name: string,
  description: string,
  cell: (status: ConnectorStatus) => string | undefined,
): TableColumn => ({ ...ageColumn, name, description, cell: (object) => cell(connectorStatus(object)) ?? null });

/** The program in a cluster that answers the orders for it, named as the cluster. */
export const connectorKind: Kind = {
  ...serverKind,
  hasStatus: true,
  nameRule: 'subdomain',
  // The registration of its cluster creates it, and its identity never changes.
  verbs: new Set(['get', 'list', 'watch', 'delete']),
  derivedFields: {
    [IDENTITY_FIELD]: (object) => identityText({ ...connectorSpec(object), keys: keysOf(object) }),
  },
  ...kindSchema(
    'Connector',
    'The connector of a cluster: a program there that issues its tokens. Deleting it ends its identity at once.',
    { spec: SpecSchema, status: StatusSchema },
  ),
  validate: () => [],
  columns: [
    nameColumn,
    textColumn('Ready', 'Whether the API server is ready.', (object) => readyText(connectorStatus(object))),
    textColumn('Version', 'The version of the connector.', (object) => connectorStatus(object).version),
    dateColumn('Renewed', 'When it last reported.', ({ renewTime }) => renewTime),
    dateColumn('Last Order', 'When it last answered an order.', ({ lastOrderTime }) => lastOrderTime),
    ageColumn,
  ],
};

const readyText = ({ ready }: ConnectorStatus): string => (ready === undefined ? 'Unknown' : ready ? 'True' : 'False');
