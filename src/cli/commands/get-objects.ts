import { createCatalog } from '../../api/catalog.ts';
import { type ApiObject, apiVersionOf, type Kind } from '../../api/kind.ts';
import type { Client } from '../../client/create-client.ts';
import { type Page, readPages } from '../../client/list-pages.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError, isObjectError } from '../describe-error.ts';
import { collectionPath, findKind, type ObjectScope, objectPath } from '../object-path.ts';
import { asList, FORMATS, printerFor } from '../output/printer.ts';
import { sorterFor } from '../output/sort-by.ts';
import { cellsOf, labelsCell, renderTable } from '../output/table.ts';

/** `get` of one kind, with kubectl's flags and output formats. */
export const runFor =
  (resource: string): Run =>
  async (context, invocation) => {
    const print = await printerFor(invocation.text('output'), FORMATS, !invocation.isOff('headers'));
    const names = invocation.args.map((argument) => argument.split('/').at(-1) ?? '');
    const labelSelector = invocation.text('selector');
    const fieldSelector = invocation.text('fieldSelector');
    if (names.length > 0 && (labelSelector !== undefined || fieldSelector !== undefined)) {
      throw new CliError('selectors cannot be combined with names');
    }
    if (names.length > 0 && invocation.is('allNamespaces')) {
      throw new CliError('a resource cannot be retrieved by name across all namespaces');
    }
    const client = await connect(context, invocation);
    const kind = findKind(createCatalog(client), resource);
    if (kind === undefined) throw new Error(`unknown kind ${resource}`);
    const scope = { cluster: invocation.text('cluster'), namespace: invocation.text('namespace') };
    const { items, problems } =
      names.length > 0
        ? await getEach(client, kind, scope, names)
        : { items: await listAll(client, kind, scope, invocation), problems: [] };
    const isOne = names.length === 1;
    if (isOne && problems[0] !== undefined) throw problems[0];
    const sortBy = invocation.text('sortBy');
    const objects = sortBy === undefined ? items : sorterFor<ApiObject>(sortBy)(items);
    if (print !== undefined) context.out.write(print(isOne ? objects[0] : asList(objects)));
    else if (objects.length > 0) printTable(context, invocation, kind, objects);
    else if (problems.length === 0) context.err.write(`${nothingFound(kind, invocation)}\n`);
    for (const problem of problems) context.err.write(`${describeError(problem)}\n`);
    return problems.length > 0 ? 1 : 0;
  };

async function getEach(
  client: Client,
  kind: Kind,
  scope: ObjectScope,
  names: readonly string[],
): Promise<{ readonly items: readonly ApiObject[]; readonly problems: readonly unknown[] }> {
  const items: ApiObject[] = [];
  const problems: unknown[] = [];
  for (const name of names) {
    try {
      const path = objectPath(client, kind, scope, name);
      items.push((await client.request<ApiObject>('GET', path, { expects: 'object' })).value);
    } catch (error) {
      if (!isObjectError(error)) throw error;
      problems.push(error);
    }
  }
  return { items, problems };
}

async function listAll(
  client: Client,
  kind: Kind,
  scope: ObjectScope,
  invocation: Invocation,
): Promise<readonly ApiObject[]> {
  const path = collectionPath(client, kind, scope, invocation.is('allNamespaces'));
  const selection = { labelSelector: invocation.text('selector'), fieldSelector: invocation.text('fieldSelector') };
  const pages = await readPages<Page<ApiObject>>(client, path, selection);
  // Items of a list do not repeat what they are.
  return pages.flatMap(({ items }) =>
    items.map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind: kind.kind })),
  );
}

function printTable(context: Context, invocation: Invocation, kind: Kind, objects: readonly ApiObject[]): void {
  const isWide = invocation.text('output') === 'wide';
  const columns = kind.columns.filter(({ priority }) => isWide || priority === 0);
  const withNamespace = invocation.is('allNamespaces');
  const withLabels = invocation.is('showLabels');
  const headers = [
    ...(withNamespace ? ['NAMESPACE'] : []),
    ...columns.map(({ name }) => name.toUpperCase()),
    ...(withLabels ? ['LABELS'] : []),
  ];
  const rows = objects.map((object) => [
    ...(withNamespace ? [terminalSafe(object.metadata.namespace ?? '')] : []),
    ...cellsOf(columns, object, context.now()),
    ...(withLabels ? [labelsCell(object)] : []),
  ]);
  context.out.write(renderTable([...(invocation.isOff('headers') ? [] : [headers]), ...rows]));
}

function nothingFound({ namespaced }: Kind, invocation: Invocation): string {
  if (!namespaced || invocation.is('allNamespaces')) return 'No resources found';
  return `No resources found in ${invocation.value('namespace')} namespace.`;
}
