import { humanAge } from '../../api/codec/go-text/human-duration.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { terminalSafe } from '../../lib/text.ts';

const GAP = 3;

export type Rows = readonly (readonly (string | undefined)[])[];

/** Renders columns as wide as their longest cell, three spaces apart, as kubectl does, and makes each cell safe. */
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

export function widthsOf(rows: Rows): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell = ''] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return widths;
}

/** The cells of an object, in the columns of the server's own tables. */
export const cellsOf = (columns: Kind['columns'], object: ApiObject, now: number): string[] =>
  columns.map((column) => {
    const value = column.cell(object);
    if (column.type === 'date') return humanAge(value, now);
    return value === null || value === '' ? '<none>' : String(value);
  });
