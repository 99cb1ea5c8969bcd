import { createCatalog } from '../api/catalog.ts';
import { SUBRESOURCES } from '../api/subresources.ts';
import type { ResourceAttributes, ReviewedAction } from '../client/access-reviews.ts';
import type { Client } from '../client/create-client.ts';
import { defined } from '../lib/json.ts';
import { isClusterType } from './clusters.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { checkClusterName } from './names.ts';
import { findKind, requireCluster } from './object-path.ts';

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
