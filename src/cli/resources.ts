import { type Catalog, createCatalog } from '../api/catalog.ts';
import { apiVersionOf, type Kind } from '../api/kind.ts';
import { SUBRESOURCES } from '../api/subresources.ts';
import { clusterPrefix, type ResourceAttributes, type ReviewedAction } from '../client/access-reviews.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus, type StatusError } from '../client/errors.ts';
import { defined } from '../lib/json.ts';
import { checkClusterName, isClusterType, pathSegment } from './clusters.ts';
import { CliError, type Context, type Invocation } from './command.ts';

/** The cluster and the namespace of an object. */
interface ObjectScope {
  readonly cluster?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The path to list objects of a kind and to create them. */
export function collectionPath(client: Client, kind: Kind, scope: ObjectScope = {}): string {
  const { cluster, namespace } = scope;
  requireCluster(kind, scope);
  const prefix = kind.inCluster ? clusterPrefix(client, cluster) : '';
  const group = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
  const inNamespace = kind.namespaced ? `/namespaces/${encodeURIComponent(namespace || 'default')}` : '';
  return `${prefix}${group}${inNamespace}/${kind.resource}`;
}

function requireCluster(kind: Kind, { cluster }: ObjectScope): void {
  if (kind.inCluster && !cluster) throw new CliError(`a ${kind.kind} belongs to a cluster: set --cluster`);
}

export function objectPath(client: Client, kind: Kind, scope: ObjectScope, name: string): string {
  const segment = pathSegment(name);
  return `${collectionPath(client, kind, scope)}/${segment}`;
}

/** The 404 for an object; undefined also for callers who may not get it (403), and learn nothing about it. */
export async function absenceOf(client: Client, path: string): Promise<StatusError | undefined> {
  try {
    await client.request('GET', path);
  } catch (error) {
    if (isStatus(error, 404)) return error;
    if (!isStatus(error, 403)) throw error;
  }
  return undefined;
}

/** Finds a kind by a name that kubectl accepts: `clusters`, `Cluster`, `sa`, `clusters.clusterregistry.k8s.io`. */
export function findKind(catalog: Catalog, text: string): Kind | undefined {
  const wanted = text.toLowerCase();
  return [...catalog.kinds, ...catalog.projections].find(({ kind, resource, singular, shortNames = [], group }) =>
    [resource, singular, kind.toLowerCase(), ...shortNames].some(
      (name) => wanted === name || (group !== '' && wanted === `${name}.${group}`),
    ),
  );
}

/** What VERB and TYPE ask about: resources, or a path of the server that starts with `/`. As in kubectl. */
export function askedAction(context: Context, invocation: Invocation, client: Client): ReviewedAction {
  const [verb = '', type = '', name] = invocation.args;
  if (!type.startsWith('/')) return { resourceAttributes: attributesOf(context, invocation, client) };
  if (name !== undefined) throw new CliError('a path cannot be combined with NAME');
  if (invocation.text('subresource') !== undefined) throw new CliError('--subresource cannot be used with a path');
  return { nonResourceAttributes: { path: type, verb } };
}

/** The attributes of VERB and TYPE, TYPE/NAME or TYPE NAME, with kubectl's meaning. */
export function attributesOf(context: Context, invocation: Invocation, client: Client): ResourceAttributes {
  const [verb = '', type = '', nameArgument] = invocation.args;
  const [resourceText = '', slashed, ...rest] = type.split('/');
  if (resourceText === '' || rest.length > 0 || slashed === '')
    throw new CliError(`${JSON.stringify(type)} is not TYPE or TYPE/NAME`);
  if (slashed !== undefined && nameArgument !== undefined) throw new CliError('TYPE/NAME cannot be combined with NAME');
  const subresource = invocation.text('subresource');
  if (slashed !== undefined && subresource === undefined) checkNoSubresource(resourceText, slashed);
  const name = slashed ?? nameArgument;
  const kind = findKind(createCatalog(client), resourceText);
  if (kind !== undefined && isClusterType(kind.resource)) checkClusterName(name ?? '');
  const dot = resourceText.indexOf('.');
  const resource = kind?.resource ?? (dot < 0 ? resourceText : resourceText.slice(0, dot));
  const group = kind?.group ?? (dot < 0 ? '' : resourceText.slice(dot + 1));
  if (kind === undefined && resourceText !== '*') {
    context.err.write(`Warning: the server doesn't have a resource type ${JSON.stringify(resourceText)}\n`);
  }
  const allNamespaces = kind?.namespaced === false || invocation.is('allNamespaces');
  return {
    verb,
    group: resourceText === '*' ? '*' : group,
    resource,
    ...(allNamespaces ? {} : { namespace: invocation.value('namespace') }),
    ...defined({ name, subresource }),
  };
}

/**
 * Refuses a question about objects inside clusters that names no cluster: a binding that allows it would hold in every
 * cluster.
 */
export function checkCluster(invocation: Invocation, client: Client): void {
  const [resourceText = ''] = (invocation.args[1] ?? '').split('/');
  const kind = findKind(createCatalog(client), resourceText);
  if (kind !== undefined) requireCluster(kind, { cluster: invocation.text('cluster') });
}

/** Roles write a subresource after the slash, kubectl a name: an answer about the other one would mislead. */
function checkNoSubresource(resource: string, slashed: string): void {
  if (!SUBRESOURCES.some((subresource) => subresource === slashed)) return;
  throw new CliError(
    `${JSON.stringify(`${resource}/${slashed}`)}: for the subresource, use ${resource} --subresource ${slashed}; ` +
      `for an object with this name, use ${resource} ${slashed}`,
  );
}
