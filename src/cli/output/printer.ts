import type { ApiObject } from '../../api/kind.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError } from '../command.ts';

/** Formats a value for `-o`. */
export type Printer = (value: unknown) => string;

/** As kubectl indents. */
const JSON_INDENT = 4;

export const FORMATS: readonly string[] = ['json', 'name', 'wide', 'yaml'];

/** The printer of `-o`; undefined for tables, which each command renders itself. */
export async function printerFor(
  format: string | undefined,
  allowed: readonly string[] = FORMATS,
): Promise<Printer | undefined> {
  if (format === undefined || format === '') return undefined;
  if (!allowed.includes(format)) {
    throw new CliError(
      `unable to match a printer suitable for the output format ${JSON.stringify(format)}, allowed formats are: ${allowed.join(',')}`,
    );
  }
  switch (format) {
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
  return `${terminalSafe(`${qualifiedName(apiVersion, kind)}/${metadata.name}`)}\n`;
}

export function qualifiedName(apiVersion: string, kind: string): string {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`;
}
