import type { ReactNode } from 'react';

/** A column of a list. Narrow screens show the title beside each cell. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly className?: string;
  /** It names the row. */
  readonly isHeader?: true;
  /** Shown in place of the title; `null`: only screen readers get the title. */
  readonly head?: ReactNode;
}

export interface ListTableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly className?: string;
  readonly isSelected?: (row: Row) => boolean;
}

/** Rows of objects, one column for each thing that is said about them. */
export const ListTable = <Row,>({ columns, rows, keyOf, className = 'list', isSelected }: ListTableProps<Row>) => (
  <table className={className}>
    <thead>
      <tr>
        {columns.map(({ title, head, className: name }) => (
          <th key={title} scope="col" className={name === 'col-check' ? name : undefined}>
            {head === null ? <span className="visually-hidden">{title}</span> : (head ?? title)}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={keyOf(row)} className={isSelected?.(row) === true ? 'selected' : undefined}>
          {columns.map((column) => (
            <Cell key={column.title} column={column} row={row} />
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

function Cell<Row>({ column: { title, cell, className, isHeader, head }, row }: { column: Column<Row>; row: Row }) {
  const label = head === undefined ? title : undefined;
  return isHeader === true ? (
    <th scope="row" data-label={label} className={className}>
      {cell(row)}
    </th>
  ) : (
    <td data-label={label} className={className}>
      {cell(row)}
    </td>
  );
}
