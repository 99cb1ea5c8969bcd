import type { TableColumn } from '../kind.ts';

export const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Unique within its scope. Cannot be changed.',
  priority: 0,
  cell: (object) => object.metadata.name ?? null,
};

/** The cell is a timestamp; it becomes an age when the table is sent (B-03). */
export const ageColumn: TableColumn = {
  name: 'Age',
  type: 'date',
  format: '',
  description: 'When the object was created.',
  priority: 0,
  cell: (object) => object.metadata.creationTimestamp ?? null,
};
