import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ServedResource, ServedVersion } from '../discovery/served-resources.ts';
import { type Json, SchemaComponents } from './schemas.ts';

/**
 * The OpenAPI 2.0 document of the kinds that can be created but not patched. kubectl learns from the PATCH operation of
 * a kind whether the server validates fields. A kind without PATCH it validates itself, with schemas of
 * `/openapi/v2` only: without this document `kubectl create -f` of a review or a key fails. It contains no other kinds.
 */
export function swaggerDocument(served: readonly ServedVersion[], productVersion: string): Json {
  const components = new SchemaComponents();
  const resources = served.flatMap((version) => version.resources).filter(isCheckedByClients);
  for (const { kind } of resources) components.body(kind);
  const definitions = Object.entries(components.all).map(([name, schema]) => [name, asSwagger(schema)]);
  return {
    swagger: '2.0',
    info: { title: 'Clusterpass', version: `v${productVersion}` },
    paths: {},
    definitions: Object.fromEntries(definitions),
  };
}

const isCheckedByClients = ({ subresource, verbs }: ServedResource): boolean =>
  subresource === '' && verbs.includes('create') && !verbs.includes('patch');

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

/** The same document as protobuf. The field numbers are those of gnostic's `OpenAPIv2.proto`. */
export function swaggerProtobuf({ swagger, info, definitions }: Json): Uint8Array {
  const { title, version } = info as Json;
  return message(
    text(1, swagger),
    inner(2, message(text(1, title), text(2, version))),
    inner(8, message()),
    inner(9, named(1, definitions)),
  );
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
    // The value of an extension is YAML, and JSON is YAML.
    ...Object.entries(schema)
      .filter(([name]) => name.startsWith('x-'))
      .map(([name, value]) => inner(31, message(text(1, name), inner(2, message(text(2, JSON.stringify(value))))))),
  );
}
