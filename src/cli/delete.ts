import { createCatalog } from '../api/catalog.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { CliError, type Context, type Invocation, type Run } from './command.ts';
import { connect } from './connection.ts';
import { type DryRun, dryRunNote, dryRunOf } from './dry-run.ts';
import { readManifests } from './manifests.ts';
import { findType, listPath, type ObjectScope, objectPath } from './object-path.ts';
import { printerFor } from './output.ts';
import { describeError } from './report-error.ts';

interface Victim {
  readonly kind: Kind;
  readonly scope: ObjectScope;
  readonly name: string;
}

/** Deletes what is named, what matches, or what files name. One that fails does not stop the others. */
export const run: Run = async (context, invocation) => {
  const dryRun = dryRunOf(invocation);
  const byName = (await printerFor(invocation.text('output'), ['name'])) !== undefined;
  const client = await connect(context, invocation);
  const all = await victims(context, invocation, client);
  if (all.length === 0) context.err.write('No resources found\n');
  let failed = false;
  for (const [index, { kind, scope, name }] of all.entries()) {
    context.progress.count(index, all.length);
    try {
      await deleteOne(client, objectPath(client, kind, scope, name), dryRun);
      const type = `${kind.singular}${kind.group === '' ? '' : `.${kind.group}`}`;
      context.out.write(
        byName ? `${type}/${name}\n` : `${type} ${JSON.stringify(name)} deleted${dryRunNote[dryRun]}\n`,
      );
    } catch (error) {
      if (isStatus(error, 404) && invocation.is('ignoreNotFound')) continue;
      const text = describeError(error);
      if (text === undefined) throw error;
      failed = true;
      context.err.write(`${text}\n`);
    }
  }
  return failed ? 1 : 0;
};

/** `client` only looks whether there is something to delete. */
async function deleteOne(client: Client, path: string, dryRun: DryRun): Promise<void> {
  if (dryRun === 'client') await client.request('GET', path);
  else await client.request('DELETE', path, { query: dryRun === 'server' ? { dryRun: 'All' } : {} });
}

async function victims(context: Context, invocation: Invocation, client: Client): Promise<readonly Victim[]> {
  const catalog = createCatalog(client);
  const [first, ...more] = invocation.args;
  const hasFiles = invocation.list('filename').length > 0;
  const selector = invocation.text('selector');
  const byLabel = selector !== undefined || invocation.is('all');
  if (hasFiles && first !== undefined) throw new CliError('give names or -f, not both');
  if (hasFiles && byLabel) throw new CliError('-l and --all go with a TYPE, not with -f');
  // In reverse: what was made last depends on what was made first.
  if (hasFiles) return (await readManifests(context, invocation, catalog)).reverse();
  if (first === undefined) throw new CliError('give TYPE and NAME, TYPE and -l, or -f');
  const scope = { cluster: invocation.text('cluster'), namespace: invocation.text('namespace') };
  const kindOf = (type: string): Kind => {
    const kind = findType(catalog, type);
    if (kind === undefined) throw new CliError(`the server doesn't have a resource type ${JSON.stringify(type)}`);
    return kind;
  };
  if (byLabel) {
    if (first.includes('/') || more.length > 0) {
      throw new CliError('name cannot be provided when a selector is specified');
    }
    if (selector !== undefined && invocation.is('all')) throw new CliError('cannot set --all and --selector together');
    return matching(client, kindOf(first), scope, { selector, everywhere: invocation.is('allNamespaces') });
  }
  if (invocation.is('allNamespaces')) throw new CliError('--all-namespaces needs -l or --all');
  const pairs = first.includes('/') ? [first, ...more].map(splitName) : more.map((name) => ({ type: first, name }));
  if (pairs.length === 0) throw new CliError('resource(s) were provided, but no name was specified');
  return pairs.map(({ type, name }) => ({ kind: kindOf(type), scope, name }));
}

const PAGE = 500;

/** All of them are known before the first is deleted. */
async function matching(
  client: Client,
  kind: Kind,
  scope: ObjectScope,
  { selector, everywhere }: { readonly selector: string | undefined; readonly everywhere: boolean },
): Promise<Victim[]> {
  const found: Victim[] = [];
  let next: string | undefined;
  do {
    const query = { limit: PAGE, labelSelector: selector, continue: next };
    const { value } = await client.request<{ items: ApiObject[]; metadata: { continue?: string } }>(
      'GET',
      listPath(client, kind, scope, everywhere),
      { query },
    );
    for (const { metadata } of value.items) {
      const namespace = kind.namespaced ? metadata.namespace : scope.namespace;
      found.push({ kind, scope: { ...scope, namespace }, name: metadata.name ?? '' });
    }
    next = value.metadata.continue || undefined;
  } while (next !== undefined);
  return found;
}

function splitName(text: string): { type: string; name: string } {
  const [type = '', name = '', ...rest] = text.split('/');
  if (type === '' || name === '' || rest.length > 0) throw new CliError(`${JSON.stringify(text)} is not TYPE/NAME`);
  return { type, name };
}
