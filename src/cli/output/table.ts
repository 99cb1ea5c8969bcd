const GAP = 3;

/** Columns as wide as their longest cell, three spaces apart, as kubectl prints them. */
export function renderTable(rows: readonly (readonly string[])[], widths = widthsOf(rows)): string {
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd((widths[index] ?? 0) + GAP)))
        .join('')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

export function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return widths;
}
