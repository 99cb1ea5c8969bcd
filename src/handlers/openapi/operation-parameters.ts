import type { Verb } from '../../api/request.ts';
import type { Json } from './schemas.ts';

/** The query parameters of each verb in OpenAPI. */

const query = (name: string, type: 'string' | 'integer' | 'boolean', description: string): Json => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});

export const pathParameter = (name: 'name' | 'namespace', description: string): Json => ({
  name,
  in: 'path',
  description,
  required: true,
  schema: { type: 'string', uniqueItems: true },
});

const PRETTY = query('pretty', 'string', 'If `true`, the response is indented. The default for browsers and curl.');
const DRY_RUN = query('dryRun', 'string', '`All` runs every check and stores nothing.');
const FIELD_MANAGER = query(
  'fieldManager',
  'string',
  'The name of the actor that makes the change, fewer than 128 printable characters.',
);
const FIELD_VALIDATION = query(
  'fieldValidation',
  'string',
  'How unknown and duplicate fields are handled: `Ignore` drops them, `Warn` (the default) drops them with a warning, ' +
    '`Strict` refuses the request.',
);
const SELECTION: readonly Json[] = [
  query('labelSelector', 'string', 'Selects objects by their labels.'),
  query('fieldSelector', 'string', 'Selects objects by their fields, e.g. `metadata.name=x`.'),
];
const LISTING: readonly Json[] = [
  ...SELECTION,
  query('limit', 'integer', 'The maximum number of objects in one response. `continue` returns the rest.'),
  query('continue', 'string', 'The token of the next page, from `metadata.continue` of the previous page.'),
  query('resourceVersion', 'string', 'The minimum version of a list, or the version after which a watch starts.'),
  query('resourceVersionMatch', 'string', 'How `resourceVersion` applies to a list: `Exact` or `NotOlderThan`.'),
  query('timeoutSeconds', 'integer', 'The maximum duration of the request.'),
  query('watch', 'boolean', 'Returns a stream of changes instead of a list, one JSON object per line.'),
  query('allowWatchBookmarks', 'boolean', 'Lets a watch send BOOKMARK events, which carry only a resourceVersion.'),
  query('sendInitialEvents', 'boolean', 'Starts a watch with the present objects as ADDED events.'),
];
const DELETION: readonly Json[] = [
  DRY_RUN,
  query('gracePeriodSeconds', 'integer', 'Accepted and ignored: objects are deleted at once.'),
  query('orphanDependents', 'boolean', 'Deprecated: use `propagationPolicy`.'),
  query('propagationPolicy', 'string', '`Orphan`, `Background` or `Foreground`. Accepted and ignored.'),
];
const IGNORE_READ_ERROR = query(
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'boolean',
  'Deletes an object whose stored value cannot be decoded, regardless of finalizers. For such objects only.',
);
const FORCE = query('force', 'boolean', 'Server-side apply only: takes over fields that other managers own.');
const WRITING: readonly Json[] = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const BY_VERB: Readonly<Record<Verb, readonly Json[]>> = {
  get: [],
  list: LISTING,
  watch: LISTING,
  create: WRITING,
  update: WRITING,
  patch: [...WRITING, FORCE],
  delete: [...DELETION, IGNORE_READ_ERROR],
  deletecollection: [...DELETION, ...SELECTION],
};

export const queryParameters = (verb: Verb): readonly Json[] => [...BY_VERB[verb], PRETTY];
