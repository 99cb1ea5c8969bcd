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

/** The server sends the time, not an age: the row stays true however long it is cached; clients count from it. */
export const ageColumn: TableColumn = {
  name: 'Age',
  type: 'date',
  format: '',
  description: 'When the object was created.',
  priority: 0,
  cell: (object) => object.metadata.creationTimestamp ?? null,
};
