import type { TableColumn } from './kind.ts';

/** Columns that every table has. */

export const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Unique within its scope. Cannot be changed.',
  priority: 0,
  cell: (object) => object.metadata.name ?? null,
};

/** The cell is the time; it becomes an age in words when the row is sent (B-03). */
export const ageColumn: TableColumn = {
  name: 'Age',
  type: 'date',
  format: '',
  description: 'When the object was created.',
  priority: 0,
  cell: (object) => object.metadata.creationTimestamp ?? null,
};
