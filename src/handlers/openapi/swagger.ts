import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { pathOf } from '../discovery/legacy-discovery.ts';
import type { ServedResource, ServedVersion } from '../discovery/served-resources.ts';
import { patchMediaTypes } from '../write/patch.ts';
import { queryParameters } from './operation-parameters.ts';
import { type Json, SchemaComponents } from './schemas.ts';

/**
 * The OpenAPI 2.0 document, for kubectl: the schema of every kind, and the PATCH operation of those that have one.
 * kubectl learns from that operation whether the server validates fields and supports dry runs, which kubectl
 * before 1.27 looks for here only: without it `kubectl diff` fails. A kind without PATCH is validated by every kubectl
 * with schemas of `/openapi/v2` only. `kubectl explain` before 1.27 reads the schemas here. Other operations are in
 * `/openapi/v3`.
 */
export function swaggerDocument(served: readonly ServedVersion[], productVersion: string): Json {
  const components = new SchemaComponents();
  const paths: Record<string, Json> = {};
  for (const version of served) {
    for (const resource of version.resources.filter(({ subresource }) => subresource === '')) {
      components.body(resource.kind);
      if (resource.verbs.includes('patch')) paths[itemPath(version, resource)] = { patch: patchOperation(resource) };
    }
  }
  const definitions = Object.entries(components.all).map(([name, schema]) => [name, asSwagger(schema)]);
  return {
    swagger: '2.0',
    info: { title: 'Clusterpass', version: `v${productVersion}` },
    paths,
    definitions: Object.fromEntries(definitions),
  };
}

const itemPath = (version: ServedVersion, { kind }: ServedResource): string =>
  `${pathOf(version)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.resource}/{name}`;

interface SwaggerParameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly description: string;
  readonly required: boolean;
  readonly type: string;
}

function patchOperation({ kind, body }: ServedResource): Json {
  const path = (name: 'name' | 'namespace'): SwaggerParameter => ({
    name,
    in: 'path',
    description: `The ${name} of the ${name === 'name' ? kind.kind : 'object'}.`,
    required: true,
    type: 'string',
  });
  const query = queryParameters('patch').map(
    (parameter): SwaggerParameter => ({
      name: String(parameter.name),
      in: 'query',
      description: String(parameter.description),
      required: false,
      type: String((parameter.schema as Json).type),
    }),
  );
  return {
    description: `Change parts of one ${body.kind}`,
    consumes: patchMediaTypes(kind.style),
    produces: ['application/json', 'application/yaml'],
    parameters: [path('name'), ...(kind.namespaced ? [path('namespace')] : []), ...query],
    responses: { '200': { description: 'OK' }, '401': { description: 'Unauthorized' } },
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': { group: body.group, kind: body.kind, version: body.version },
  };
}

const OPENAPI_3 = '#/components/schemas/';

/** OpenAPI 2.0 has schemas under `definitions`, and its clients ignore `allOf`. */
function asSwagger(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asSwagger);
  if (typeof value === 'string')
    return value.startsWith(OPENAPI_3) ? value.replace(OPENAPI_3, '#/definitions/') : value;
  if (typeof value !== 'object' || value === null) return value;
  const { allOf, ...rest } = value as Json;
  const [only] = Array.isArray(allOf) ? allOf : [];
  return Object.fromEntries(Object.entries({ ...rest, ...only }).map(([key, inner]) => [key, asSwagger(inner)]));
}

/** client-go sends an at sign in Accept, which media types cannot contain, and does not accept it in the response. */
export const SWAGGER_PROTOBUF = {
  asked: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  answered: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
} as const;

/** The Swagger document as protobuf. The field numbers are those of gnostic's `OpenAPIv2.proto`. */
export function swaggerProtobuf({ swagger, info, paths, definitions }: Json): Uint8Array {
  const { title, version } = info as Json;
  return message(
    text(1, swagger),
    inner(2, message(text(1, title), text(2, version))),
    inner(8, pathsMessage(paths as Json)),
    inner(9, named(1, definitions)),
  );
}

/** Paths, NamedPathItem, PathItem. */
const pathsMessage = (paths: Json): Uint8Array =>
  message(
    ...Object.entries(paths).map(([path, item]) => {
      const operation = operationMessage((item as { patch: Json }).patch);
      return inner(2, message(text(1, path), inner(2, message(inner(8, operation)))));
    }),
  );

function operationMessage(operation: Json): Uint8Array {
  const { description, produces, consumes, parameters, responses } = operation;
  return message(
    text(3, description),
    ...(produces as string[]).map((type) => text(6, type)),
    ...(consumes as string[]).map((type) => text(7, type)),
    ...(parameters as SwaggerParameter[]).map((parameter) => inner(8, parameterMessage(parameter))),
    inner(
      9,
      message(
        ...Object.entries(responses as Readonly<Record<string, Json>>).map(([code, response]) =>
          // NamedResponseValue, ResponseValue, Response.
          inner(1, message(text(1, code), inner(2, message(inner(1, message(text(1, response.description))))))),
        ),
      ),
    ),
    ...extensions(13, operation),
  );
}

/** ParametersItem, Parameter, NonBodyParameter, and the parameter itself. */
function parameterMessage({ required, in: where, description, name, type }: SwaggerParameter): Uint8Array {
  const isQuery = where === 'query';
  const parameter = message(
    flag(1, required),
    text(2, where),
    text(3, description),
    text(4, name),
    text(isQuery ? 6 : 5, type),
  );
  return message(inner(1, message(inner(2, message(inner(isQuery ? 3 : 4, parameter))))));
}

type Field = (writer: BinaryWriter) => void;

function message(...fields: readonly Field[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const field of fields) field(writer);
  return writer.finish();
}

const nothing: Field = () => {};

const text = (number: number, value: unknown): Field =>
  typeof value === 'string' ? (writer) => writer.tag(number, WireType.LengthDelimited).string(value) : nothing;

const whole = (number: number, value: unknown): Field =>
  typeof value === 'number' ? (writer) => writer.tag(number, WireType.Varint).int64(value) : nothing;

const flag = (number: number, value: boolean): Field =>
  value ? (writer) => writer.tag(number, WireType.Varint).bool(true) : nothing;

const inner =
  (number: number, bytes: Uint8Array): Field =>
  (writer) =>
    writer.tag(number, WireType.LengthDelimited).bytes(bytes);

const given = (value: unknown, field: (value: Json) => Field): Field =>
  typeof value === 'object' && value !== null ? field(value as Json) : nothing;

/** Protobuf encodes a map as a list of pairs. */
const named = (number: number, schemas: unknown): Uint8Array =>
  message(
    ...Object.entries(schemas as Json).map(([name, schema]) =>
      inner(number, message(text(1, name), inner(2, schemaMessage(schema as Json)))),
    ),
  );

function schemaMessage(schema: Json): Uint8Array {
  const { $ref, format, description, maxLength, maxItems, maxProperties } = schema;
  const { required, additionalProperties, type, items } = schema;
  return message(
    text(1, $ref),
    text(2, format),
    text(4, description),
    whole(11, maxLength),
    whole(14, maxItems),
    whole(17, maxProperties),
    ...(Array.isArray(required) ? required : []).map((name) => text(19, name)),
    given(additionalProperties, (value) => inner(21, message(inner(1, schemaMessage(value))))),
    type === undefined ? nothing : inner(22, message(text(1, type))),
    given(items, (value) => inner(23, message(inner(1, schemaMessage(value))))),
    given(schema.properties, (value) => inner(25, named(1, value))),
    ...extensions(31, schema),
  );
}

/** The value of an extension is YAML, and JSON is YAML. */
const extensions = (number: number, of: Json): Field[] =>
  Object.entries(of)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => inner(number, message(text(1, name), inner(2, message(text(2, JSON.stringify(value)))))));
