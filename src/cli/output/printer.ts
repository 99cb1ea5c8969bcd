import type { ApiObject, Kind } from '../../api/kind.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Context, Invocation } from '../command.ts';
import { cellsOf, renderTable } from './table.ts';

/** Formats a value for `-o`. */
export type Printer = (value: unknown) => string;

/** As kubectl indents. */
const JSON_INDENT = 4;

/** The printer of `-o`; undefined for tables, which each command renders itself. */
export async function printerFor(invocation: Invocation): Promise<Printer | undefined> {
  switch (invocation.text('output')) {
    case 'json':
      return (value) => `${JSON.stringify(value, null, JSON_INDENT)}\n`;
    case 'yaml': {
      const { toYaml } = await import('../../api/codec/to-yaml.ts');
      return toYaml;
    }
    case 'name':
      return (value) => itemsOf(value).map(nameOf).join('');
    default:
      // `wide`: a table with more columns.
      return undefined;
  }
}

/** Prints a list by `-o`, else as a table in the columns of the server. */
export async function printObjects(
  { out, err, now }: Context,
  invocation: Invocation,
  objects: readonly ApiObject[],
  { columns }: Pick<Kind, 'columns'>,
): Promise<void> {
  const print = await printerFor(invocation);
  if (print !== undefined) out.write(print(asList(objects)));
  else if (objects.length === 0) err.write('No resources found\n');
  else {
    const shown = columns.filter(({ priority }) => invocation.text('output') === 'wide' || priority === 0);
    const names = invocation.isOff('headers') ? [] : [shown.map(({ name }) => name.toUpperCase())];
    out.write(renderTable([...names, ...objects.map((each) => cellsOf(shown, each, now()))]));
  }
}

interface ObjectList {
  readonly kind: 'List';
  readonly items: readonly ApiObject[];
}

const isList = (value: unknown): value is ObjectList => (value as { kind?: unknown }).kind === 'List';

const itemsOf = (value: unknown): readonly ApiObject[] => (isList(value) ? value.items : [value as ApiObject]);

/** A List as kubectl prints it. */
export const asList = (items: readonly ApiObject[]): unknown => ({
  apiVersion: 'v1',
  items,
  kind: 'List',
  metadata: { resourceVersion: '' },
});

/** `cluster.clusterregistry.k8s.io/prod-eu-1` */
function nameOf({ apiVersion, kind, metadata }: ApiObject): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : '';
  return `${terminalSafe(`${kind.toLowerCase()}${group}/${metadata.name}`)}\n`;
}
