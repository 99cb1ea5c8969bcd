import type { Verb } from '../../api/request.ts';
import type { Json } from './schemas.ts';

/** The parameters of every verb, as OpenAPI describes them. */

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

const PRETTY = query('pretty', 'string', 'If `true`, the answer is indented. The default for browsers and curl.');
const DRY_RUN = query('dryRun', 'string', '`All`: every check is made, and nothing is stored.');
const FIELD_MANAGER = query('fieldManager', 'string', 'Who makes the change: fewer than 128 printable characters.');
const FIELD_VALIDATION = query(
  'fieldValidation',
  'string',
  'What happens to unknown and repeated fields: `Ignore` drops them, `Warn` (the default) also says so, `Strict` refuses the request.',
);
const SELECTION: readonly Json[] = [
  query('labelSelector', 'string', 'Only objects whose labels match.'),
  query('fieldSelector', 'string', 'Only objects whose fields match, e.g. `metadata.name=x`.'),
];
const LISTING: readonly Json[] = [
  ...SELECTION,
  query('limit', 'integer', 'The most objects in one answer; the rest is asked for with `continue`.'),
  query('continue', 'string', 'The next page of a list, from `metadata.continue` of the page before.'),
  query('resourceVersion', 'string', 'How fresh the answer must be, or where a watch starts.'),
  query('resourceVersionMatch', 'string', 'How `resourceVersion` is meant: `Exact` or `NotOlderThan`.'),
  query('timeoutSeconds', 'integer', 'When the call ends at the latest.'),
  query('watch', 'boolean', 'Instead of a list, a stream of changes: one JSON object per line.'),
  query('allowWatchBookmarks', 'boolean', 'A watch may also tell how far it has come when nothing happens.'),
  query('sendInitialEvents', 'boolean', 'A watch starts with what is there already.'),
];
const DELETION: readonly Json[] = [
  DRY_RUN,
  query('gracePeriodSeconds', 'integer', 'Accepted, and without effect: objects here end at once.'),
  query('orphanDependents', 'boolean', 'Use `propagationPolicy` instead.'),
  query('propagationPolicy', 'string', '`Orphan`, `Background` or `Foreground`.'),
];
const WRITING: readonly Json[] = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const BY_VERB: Readonly<Record<Verb, readonly Json[]>> = {
  get: [],
  list: LISTING,
  watch: LISTING,
  create: WRITING,
  update: WRITING,
  patch: WRITING,
  delete: DELETION,
  deletecollection: [...DELETION, ...SELECTION],
};

export const queryParameters = (verb: Verb): readonly Json[] => [...BY_VERB[verb], PRETTY];
