import { createCatalog } from '../../api/catalog.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { type Page, readPages } from '../../client/list-pages.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { type DryRun, dryRunNote, dryRunOf } from '../dry-run.ts';
import { readManifests } from '../manifests.ts';
import { collectionPath, findKind, type ObjectScope, objectPath } from '../object-path.ts';
import { printerFor } from '../output/printer.ts';

interface ObjectReference {
  readonly kind: Kind;
  readonly scope: ObjectScope;
  readonly name: string;
}

/** Deletes objects by name, by label selector or by file. Continues after an error. */
export const run: Run = async (context, invocation) => {
  const dryRun = dryRunOf(invocation);
  const byName = (await printerFor(invocation.text('output'), ['name'])) !== undefined;
  const client = await connect(context, invocation);
  const objects = await findObjects(context, invocation, client);
  if (objects.length === 0) context.err.write('No resources found\n');
  let failed = false;
  for (const [index, { kind, scope, name }] of objects.entries()) {
    context.progress.count(index, objects.length);
    try {
      const finalizers = await deleteOne(client, objectPath(client, kind, scope, name), dryRun);
      const type = `${kind.singular}${kind.group === '' ? '' : `.${kind.group}`}`;
      context.out.write(
        byName ? `${type}/${name}\n` : `${type} ${JSON.stringify(name)} deleted${dryRunNote[dryRun]}\n`,
      );
      if (finalizers.length > 0) {
        const waiting = terminalSafe(finalizers.join(', '));
        context.err.write(
          `Warning: ${type} ${JSON.stringify(name)} exists until its finalizers are removed: ${waiting}\n`,
        );
      }
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

/** Returns the finalizers that keep the object. A client dry run only checks that it exists. */
async function deleteOne(client: Client, path: string, dryRun: DryRun): Promise<readonly string[]> {
  if (dryRun === 'client') {
    await client.request('GET', path);
    return [];
  }
  const query = dryRun === 'server' ? { dryRun: 'All' } : {};
  // A Status, or the object if it still exists.
  const { value } = await client.request<Partial<ApiObject>>('DELETE', path, { query });
  return value.metadata?.deletionTimestamp === undefined ? [] : (value.metadata.finalizers ?? []);
}

async function findObjects(
  context: Context,
  invocation: Invocation,
  client: Client,
): Promise<readonly ObjectReference[]> {
  const catalog = createCatalog(client);
  const [first, ...more] = invocation.args;
  const hasFiles = invocation.list('filename').length > 0;
  const selector = invocation.text('selector');
  const byLabel = selector !== undefined || invocation.is('all');
  if (hasFiles && first !== undefined) throw new CliError('cannot specify both names and -f');
  if (hasFiles && byLabel) throw new CliError('cannot specify both -f and -l or --all');
  // In reverse order: later objects may depend on earlier ones.
  if (hasFiles) return (await readManifests(context, invocation, catalog)).reverse();
  if (first === undefined) throw new CliError('must specify TYPE and NAME, TYPE and -l, or -f');
  const scope = { cluster: invocation.text('cluster'), namespace: invocation.text('namespace') };
  const kindOf = (type: string): Kind => {
    const kind = findKind(catalog, type);
    if (kind === undefined) throw new CliError(`the server doesn't have a resource type ${JSON.stringify(type)}`);
    return kind;
  };
  if (byLabel) {
    if (first.includes('/') || more.length > 0) {
      throw new CliError('name cannot be provided when a selector is specified');
    }
    if (selector !== undefined && invocation.is('all')) throw new CliError('cannot set --all and --selector together');
    const selection = { selector, allNamespaces: invocation.is('allNamespaces') };
    try {
      return await listObjects(client, kindOf(first), scope, selection);
    } catch (error) {
      if (isStatus(error, 404) && invocation.is('ignoreNotFound')) return [];
      throw error;
    }
  }
  if (invocation.is('allNamespaces')) throw new CliError('--all-namespaces needs -l or --all');
  const pairs = first.includes('/') ? [first, ...more].map(splitName) : more.map((name) => ({ type: first, name }));
  if (pairs.length === 0) throw new CliError('resource(s) were provided, but no name was specified');
  return pairs.map(({ type, name }) => ({ kind: kindOf(type), scope, name }));
}

/** Lists all objects before the first is deleted. */
async function listObjects(
  client: Client,
  kind: Kind,
  scope: ObjectScope,
  { selector, allNamespaces }: { readonly selector: string | undefined; readonly allNamespaces: boolean },
): Promise<ObjectReference[]> {
  const path = collectionPath(client, kind, scope, allNamespaces);
  const pages = await readPages<Page<ApiObject>>(client, path, { labelSelector: selector });
  return pages.flatMap(({ items }) =>
    items.map(({ metadata }) => {
      const namespace = kind.namespaced ? metadata.namespace : scope.namespace;
      return { kind, scope: { ...scope, namespace }, name: metadata.name ?? '' };
    }),
  );
}

function splitName(text: string): { type: string; name: string } {
  const [type = '', name = '', ...rest] = text.split('/');
  if (type === '' || name === '' || rest.length > 0) throw new CliError(`${JSON.stringify(text)} is not TYPE/NAME`);
  return { type, name };
}
