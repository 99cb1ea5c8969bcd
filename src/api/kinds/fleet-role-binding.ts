import { Type } from 'typebox';
import { clustersText } from '../clusters-field.ts';
import type { ApiObject, Kind } from '../kind.ts';
import { ageColumn, nameColumn, subjectColumns, textColumn } from './columns.ts';
import { bindingErrors } from './fleet-role-binding-errors.ts';
import { bindingSpec, bindingStatus, SpecSchema, StatusSchema } from './fleet-role-binding-spec.ts';
import { kindSchema } from './meta.ts';
import { serverKind } from './server-kind.ts';

/** Between the values of a field that has several: see `Kind.selectableFields`. */
const SEPARATOR = '\0';

/** Derived: two versions of the same generation grant the same. */
export const GENERATION_FIELD = 'metadata.generation';
/** Derived: when it ends; `""` if it does not. */
export const END_FIELD = 'spec.expiresAt';

const roleText = (object: ApiObject): string => {
  const { kind = '', name = '' } = bindingSpec(object).roleRef ?? {};
  return `${kind}/${name}`;
};

/**
 * Grants a role in some clusters, until some time, to people or to agents as well. A field that is misspelled, null or
 * missing is an error: such a binding would hold in more clusters, or longer, than its author meant.
 */
export const fleetRoleBindingKind: Kind = {
  ...serverKind,
  shortNames: ['frb'],
  policyRole: 'binding',
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'path-segment',
  selectableFields: {
    'spec.roleRef.name': (object) => bindingSpec(object).roleRef?.name ?? '',
    'spec.subjects.name': (object) => (bindingSpec(object).subjects ?? []).map(({ name = '' }) => name).join(SEPARATOR),
  },
  derivedFields: {
    [GENERATION_FIELD]: ({ metadata }) => String(metadata.generation ?? 0),
    [END_FIELD]: (object) => bindingSpec(object).expiresAt ?? '',
  },
  ...kindSchema(
    'FleetRoleBinding',
    'Grants a role to subjects, in some clusters.',
    { spec: Type.Optional(SpecSchema), status: Type.Optional(StatusSchema) },
    { strict: true },
  ),
  validate: bindingErrors,
  columns: [
    nameColumn,
    textColumn('Role', 'The role that is granted.', roleText),
    textColumn('Clusters', 'Where it holds.', (object) => clustersText(bindingSpec(object).clusters)),
    {
      name: 'Reaches',
      type: 'integer',
      format: '',
      description: 'The number of clusters in which it holds now.',
      priority: 0,
      cell: (object) => bindingStatus(object).clusters ?? null,
    },
    textColumn('Namespaces', 'The namespaces in which it holds.', (object) =>
      (bindingSpec(object).namespaces ?? ['<all>']).join(','),
    ),
    textColumn('Expires', 'When it ends.', (object) => bindingSpec(object).expiresAt ?? '<never>'),
    textColumn('Problem', 'Why it grants nothing.', (object) =>
      (bindingStatus(object).conditions ?? []).map(({ type = '' }) => type).join(','),
    ),
    ageColumn,
    ...subjectColumns((object) => bindingSpec(object).subjects ?? []),
  ],
};
