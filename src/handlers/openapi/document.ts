import type { Verb } from '../../api/request.ts';
import { pathOf } from '../discovery/documents.ts';
import type { ServedResource, ServedVersion } from '../discovery/served-resources.ts';
import { deleteOptionsType } from '../options/delete-options.ts';
import { patchMediaTypes } from '../write/patch.ts';
import { gvk, type Json, SchemaComponents } from './schemas.ts';

/** The OpenAPI 3.0 document of one group version, made from the schemas that validate requests. */
export function openApiDocument(served: ServedVersion, productVersion: string): Json {
  const components = new SchemaComponents();
  const paths: Record<string, Json> = {};
  for (const resource of served.resources) Object.assign(paths, pathsOf(served, resource, components));
  return {
    openapi: '3.0.0',
    info: { title: 'Clusterpass', version: `v${productVersion}` },
    paths,
    components: {
      schemas: components.all,
      securitySchemes: { BearerToken: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ BearerToken: [] }],
  };
}

/** The method of each verb, the action in the words of Kubernetes, and what it does. */
const VERBS: Readonly<Record<Verb, readonly [method: string, action: string, does: string]>> = {
  get: ['get', 'get', 'Read one'],
  list: ['get', 'list', 'List or watch objects of kind'],
  watch: ['get', 'watchlist', 'Watch objects of kind'],
  create: ['post', 'post', 'Create a'],
  update: ['put', 'put', 'Replace one'],
  patch: ['patch', 'patch', 'Change parts of one'],
  delete: ['delete', 'delete', 'Delete one'],
  deletecollection: ['delete', 'deletecollection', 'Delete all or the selected objects of kind'],
};

/** A watch is a list with a parameter. */
const COLLECTION: readonly Verb[] = ['list', 'create', 'deletecollection'];
const ITEM: readonly Verb[] = ['get', 'update', 'patch', 'delete'];
/** With `create` for tokens. */
const SUBRESOURCE: readonly Verb[] = [...ITEM, 'create'];

/** The paths of a resource or a subresource, with their operations. */
export function pathsOf(
  served: ServedVersion,
  resource: ServedResource,
  components: SchemaComponents,
): Record<string, Json> {
  const { kind, subresource } = resource;
  const root = pathOf(served);
  const collection = `${root}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.resource}`;
  const operations = (of: readonly Verb[], verbs: readonly Verb[]): Json =>
    Object.fromEntries(
      of.filter((verb) => verbs.includes(verb)).map((verb) => [VERBS[verb][0], operation(resource, verb, components)]),
    );
  const namespace = kind.namespaced ? [pathParameter('namespace', 'The namespace of the object.')] : [];
  const name = pathParameter('name', `The name of the ${kind.kind}.`);
  if (subresource !== '') {
    const path = `${collection}/{name}/${subresource}`;
    return { [path]: { ...operations(SUBRESOURCE, resource.verbs), parameters: [name, ...namespace] } };
  }
  const item = operations(ITEM, resource.verbs);
  return {
    [collection]: { ...operations(COLLECTION, resource.verbs), parameters: namespace },
    ...(Object.keys(item).length === 0
      ? {}
      : { [`${collection}/{name}`]: { ...item, parameters: [name, ...namespace] } }),
    ...(kind.namespaced && resource.verbs.includes('list')
      ? { [`${root}/${kind.resource}`]: operations(COLLECTION, ['list']) }
      : {}),
  };
}

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';

function operation({ kind, subresource, body }: ServedResource, verb: Verb, components: SchemaComponents): Json {
  const schema = components.body(body);
  const answered =
    verb === 'list'
      ? components.list(kind, kind.listKind ?? `${kind.kind}List`)
      : verb.startsWith('delete')
        ? STATUS(components)
        : schema;
  const code = verb === 'create' ? '201' : '200';
  const [, action, does] = VERBS[verb];
  const answer = content([JSON_TYPE, YAML_TYPE], answered);
  return {
    description: `${does} ${body.kind}${subresource === '' || subresource === 'token' ? '' : ` (${subresource})`}`,
    parameters: queryParameters(verb),
    ...requestBody(kind.style, verb, schema, components),
    responses: {
      [code]: { description: code === '201' ? 'Created' : 'OK', content: answer },
      // Server-side apply creates.
      ...(verb === 'patch' ? { '201': { description: 'Created', content: answer } } : {}),
      '401': { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: body.group, kind: body.kind, version: body.version },
  };
}

function requestBody(
  style: ServedResource['kind']['style'],
  verb: Verb,
  schema: Json,
  components: SchemaComponents,
): Json {
  switch (verb) {
    case 'create':
    case 'update':
      return { requestBody: { content: content([JSON_TYPE, YAML_TYPE], schema), required: true } };
    case 'patch':
      return { requestBody: { content: content(patchMediaTypes(style), PATCH(components)), required: true } };
    case 'delete':
    case 'deletecollection':
      return { requestBody: { content: content([JSON_TYPE, YAML_TYPE], components.body(deleteOptionsType)) } };
    default:
      return {};
  }
}

const content = (types: readonly string[], schema: Json): Json =>
  Object.fromEntries(types.map((type) => [type, { schema }]));

const PATCH = (components: SchemaComponents): Json =>
  components.named('Patch', { type: 'object', description: 'A patch in the format of its media type.' });

const STATUS = (components: SchemaComponents): Json =>
  components.named('Status', {
    type: 'object',
    description: 'The result of a request that returns no object.',
    properties: {
      apiVersion: { type: 'string' },
      code: { type: 'integer', format: 'int32', description: 'The HTTP status code.' },
      details: { type: 'object', description: 'The object that the status is about, and the causes of a failure.' },
      kind: { type: 'string' },
      message: { type: 'string', description: 'A message for people.' },
      metadata: { type: 'object' },
      reason: { type: 'string', description: 'A reason for programs, as one word.' },
      status: { type: 'string', description: '`Success` or `Failure`.' },
    },
    ...gvk([{ group: '', version: 'v1', kind: 'Status' }]),
  });

/** The query parameters of each verb in OpenAPI. */

const query = (name: string, type: 'string' | 'integer' | 'boolean', description: string): Json => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});

const pathParameter = (name: 'name' | 'namespace', description: string): Json => ({
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
const FORCE = query('force', 'boolean', 'Server-side apply only: takes over fields that other managers own.');
const WRITING: readonly Json[] = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const BY_VERB: Readonly<Record<Verb, readonly Json[]>> = {
  get: [],
  list: LISTING,
  watch: LISTING,
  create: WRITING,
  update: WRITING,
  patch: [...WRITING, FORCE],
  delete: DELETION,
  deletecollection: [...DELETION, ...SELECTION],
};

const queryParameters = (verb: Verb): readonly Json[] => [...BY_VERB[verb], PRETTY];
