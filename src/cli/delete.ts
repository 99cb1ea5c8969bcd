import { createCatalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { isStatus } from '../client/errors.ts';
import { CliError, type Context, type Invocation, type Run } from './command.ts';
import { connect } from './connection.ts';
import { isDryRun } from './dry-run.ts';
import { readManifests } from './manifests.ts';
import { findType, objectPath, type Place } from './object-path.ts';
import { describeError } from './report-error.ts';

interface Victim {
  readonly kind: Kind;
  readonly place: Place;
  readonly name: string;
}

/** Deletes what is named, or what files name. One that fails does not stop the others. */
export const run: Run = async (context, invocation) => {
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  let failed = false;
  for (const { kind, place, name } of await victims(context, invocation, client.productName)) {
    try {
      const query = dryRun ? { dryRun: 'All' } : {};
      await client.request('DELETE', objectPath(client, kind, place, name), { query });
      const type = `${kind.singular}${kind.group === '' ? '' : `.${kind.group}`}`;
      context.out.write(`${type} ${JSON.stringify(name)} deleted${dryRun ? ' (server dry run)' : ''}\n`);
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

async function victims(context: Context, invocation: Invocation, productName: string): Promise<Victim[]> {
  const catalog = createCatalog({ productName });
  const [first, ...more] = invocation.args;
  const hasFiles = invocation.list('filename').length > 0;
  if (hasFiles && first !== undefined) throw new CliError('give names or -f, not both');
  // In reverse: what was made last depends on what was made first.
  if (hasFiles) return (await readManifests(context, invocation, catalog)).reverse();
  if (first === undefined) throw new CliError('give TYPE and NAME, or -f');
  const slashed = first.includes('/');
  const pairs = slashed ? [first, ...more].map(splitName) : more.map((name) => ({ type: first, name }));
  if (pairs.length === 0) throw new CliError('resource(s) were provided, but no name was specified');
  const place = { cluster: invocation.text('cluster'), namespace: invocation.text('namespace') };
  return pairs.map(({ type, name }) => {
    const kind = findType(catalog, type);
    if (kind === undefined) throw new CliError(`the server doesn't have a resource type ${JSON.stringify(type)}`);
    return { kind, place, name };
  });
}

function splitName(text: string): { type: string; name: string } {
  const [type = '', name = '', ...rest] = text.split('/');
  if (type === '' || name === '' || rest.length > 0) throw new CliError(`${JSON.stringify(text)} is not TYPE/NAME`);
  return { type, name };
}
