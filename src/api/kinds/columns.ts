import type { ApiObject, TableColumn } from '../kind.ts';

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

/** A column of texts. kubectl prints `<none>` for a cell that is null, and nothing for one that is undefined. */
export const textColumn = (
  name: string,
  description: string,
  cell: (object: ApiObject) => string | null | undefined,
  priority: 0 | 1 = 0,
): TableColumn => ({
  name,
  type: 'string',
  format: '',
  description,
  priority,
  cell: (object) => {
    const text = cell(object);
    return text === undefined ? '' : text;
  },
});

type ShownSubject = Partial<Readonly<Record<'kind' | 'namespace' | 'name', string>>>;

const SUBJECTS = [
  ['Users', 'users', 'User'],
  ['Groups', 'groups', 'Group'],
  ['ServiceAccounts', 'service accounts', 'ServiceAccount'],
] as const;

/** The subjects of a binding by their kinds. */
export const subjectColumns = (subjectsOf: (object: ApiObject) => readonly ShownSubject[]): TableColumn[] =>
  SUBJECTS.map(([name, subjects, kind]) =>
    textColumn(
      name,
      `The ${subjects} that the role is granted to.`,
      (object) =>
        subjectsOf(object)
          .filter((subject) => subject.kind === kind)
          .map(({ namespace = '', name = '' }) => (namespace === '' ? name : `${namespace}/${name}`))
          .join(', '),
      1,
    ),
  );
