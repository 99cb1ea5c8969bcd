import type { ResourceQuestion } from '../../api/authorization.ts';
import type { Identity } from '../../api/caller.ts';
import { MIRROR_VERB } from '../../api/domain-keys.ts';
import { connectorKind } from '../../api/kinds/connector.ts';
import { namespaceKind, podKind, serviceAccountKind } from '../../api/kinds/core.ts';
import { tokenOrderKind } from '../../api/kinds/token-order.ts';

const READS = ['get', 'list', 'watch'];
const STATUS = ['get', 'update', 'patch'];
const COPIES = [...READS, 'create', 'update', 'patch', 'delete', MIRROR_VERB];

const row = ({ group, resource }: { group: string; resource: string }, subresource: string, verbs: string[]) =>
  [`${group}/${resource}/${subresource}`, new Set(verbs)] as const;

/** About its own Connector, by name. */
const OF_FLEET = new Map([row(connectorKind, '', READS), row(connectorKind, 'status', STATUS)]);

/** Inside its own cluster: the orders for it, and copies of the objects there. */
const IN_CLUSTER = new Map([
  row(tokenOrderKind, '', READS),
  row(tokenOrderKind, 'status', STATUS),
  ...[namespaceKind, serviceAccountKind, podKind].map((kind) => row(kind, '', COPIES)),
]);

/** What the connector of a cluster may do without a binding. */
export function connectorMay({ connector }: Identity, question: ResourceQuestion): boolean {
  if (connector === undefined) return false;
  const { cluster, name, group, resource, subresource, verb } = question;
  const isOwn = cluster === undefined ? name === connector : cluster === connector;
  const table = cluster === undefined ? OF_FLEET : IN_CLUSTER;
  return isOwn && table.get(`${group}/${resource}/${subresource}`)?.has(verb) === true;
}
