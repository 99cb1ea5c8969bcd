import { humanAge } from '../../api/codec/go-text/human-duration.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Context, Invocation } from '../command.ts';

const GAP = 3;

type Rows = readonly (readonly (string | undefined)[])[];

export function widthsOf(rows: Rows): readonly number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell = ''] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return widths;
}

/** Renders columns three spaces apart, as kubectl does, and makes each cell safe. */
export function renderTable(rows: Rows, widths = widthsOf(rows)): string {
  return rows
    .map((row) => row.map((cell = '') => terminalSafe(cell)))
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd((widths[index] ?? 0) + GAP)))
        .join('')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** The cells of an object, in the columns of the server's own tables. */
export const cellsOf = (columns: Kind['columns'], object: ApiObject, now: number): string[] =>
  columns.map((column) => {
    const value = column.cell(object);
    if (column.type === 'date') return humanAge(value, now);
    return value === null || value === '' ? '<none>' : String(value);
  });

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

/** Prints a value by `-o`. Returns whether `-o` is given. */
export async function isPrinted({ out }: Context, invocation: Invocation, value: unknown): Promise<boolean> {
  const print = await printerFor(invocation);
  if (print !== undefined) out.write(print(value));
  return print !== undefined;
}

interface TableText {
  /** Left out with `--no-headers`. */
  readonly head: readonly string[];
  readonly rows: Rows;
  /** In place of a table without rows. */
  readonly none: string;
}

/** Prints a value by `-o`, else a table. */
export async function printTable(
  context: Context,
  invocation: Invocation,
  value: unknown,
  { head, rows, none }: TableText,
): Promise<void> {
  if (await isPrinted(context, invocation, value)) return;
  if (rows.length === 0) context.err.write(`${none}\n`);
  else context.out.write(renderTable(invocation.isOff('headers') ? rows : [head, ...rows]));
}

/** Prints a list by `-o`, else as a table in the columns of the server. */
export async function printObjects(
  context: Context,
  invocation: Invocation,
  objects: readonly ApiObject[],
  { columns }: Pick<Kind, 'columns'>,
): Promise<void> {
  const shown = columns.filter(({ priority }) => invocation.text('output') === 'wide' || priority === 0);
  await printTable(context, invocation, asList(objects), {
    head: shown.map(({ name }) => name.toUpperCase()),
    rows: objects.map((each) => cellsOf(shown, each, context.now())),
    none: 'No resources found',
  });
}

function itemsOf(value: unknown): readonly ApiObject[] {
  const { kind, items } = value as { readonly kind?: unknown; readonly items: readonly ApiObject[] };
  return kind === 'List' ? items : [value as ApiObject];
}

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
