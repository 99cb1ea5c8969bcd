import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ServedVersion } from '../discovery/served-resources.ts';
import { pathsOf } from './document.ts';
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
  // Of operations that are not in this document.
  const unused = new SchemaComponents();
  const paths: Record<string, Json> = {};
  for (const version of served) {
    for (const resource of version.resources.filter(({ subresource }) => subresource === '')) {
      components.body(resource.kind);
      for (const [path, item] of Object.entries(pathsOf(version, resource, unused))) {
        if (item.patch !== undefined) paths[path] = { patch: patchOperation(item) };
      }
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

/** The PATCH operation of a path as OpenAPI 2.0 has it. */
function patchOperation({ patch, parameters: ofPath }: Json): Json {
  const { parameters, requestBody, responses, ...operation } = patch as Json;
  return {
    ...operation,
    consumes: Object.keys((requestBody as { content: Json }).content),
    produces: ['application/json', 'application/yaml'],
    parameters: [...(ofPath as Json[]), ...(parameters as Json[])].map(
      ({ required = false, schema, ...parameter }) => ({
        ...parameter,
        required,
        type: (schema as Json).type,
      }),
    ),
    responses: Object.fromEntries(
      Object.entries(responses as Readonly<Record<string, Json>>).map(([code, { description }]) => [
        code,
        { description },
      ]),
    ),
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

/** Writes a value as a field of a message. */
type Encode = (writer: BinaryWriter, number: number, value: unknown) => void;

const text: Encode = (writer, number, value) => writer.tag(number, WireType.LengthDelimited).string(String(value));
const whole: Encode = (writer, number, value) => writer.tag(number, WireType.Varint).int64(Number(value));
const flag: Encode = (writer, number, value) => value === true && writer.tag(number, WireType.Varint).bool(true);

const each =
  (item: Encode): Encode =>
  (writer, number, values) => {
    for (const value of values as readonly unknown[]) item(writer, number, value);
  };

function message(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

/** A message with this field only. */
const inside =
  (field: number, encode: Encode): Encode =>
  (writer, number, value) =>
    message(writer, number, () => encode(writer, field, value));

/** A map: protobuf has a list of pairs in its place. */
const named =
  (encode: Encode): Encode =>
  (writer, number, map) => {
    for (const [name, value] of Object.entries(map as Json)) {
      message(writer, number, () => {
        text(writer, 1, name);
        encode(writer, 2, value);
      });
    }
  };

type Fields = Readonly<Record<string, readonly [number, Encode]>>;

/** `extensions`: the field of the members that begin with `x-`. */
const object =
  (fields: Fields, extensions?: number): Encode =>
  (writer, number, value) =>
    message(writer, number, () => writeFields(writer, fields, value as Json, extensions));

function writeFields(writer: BinaryWriter, fields: Fields, members: Json, extensions?: number): void {
  for (const [name, [field, encode]] of Object.entries(fields)) {
    if (members[name] !== undefined) encode(writer, field, members[name]);
  }
  if (extensions === undefined) return;
  // The value of an extension is YAML, and JSON is YAML.
  const extended = Object.entries(members).filter(([name]) => name.startsWith('x-'));
  const texts = extended.map(([name, value]) => [name, JSON.stringify(value)]);
  named(inside(2, text))(writer, extensions, Object.fromEntries(texts));
}

const schema: Encode = (...field) => SCHEMA(...field);
const SCHEMA = object(
  {
    $ref: [1, text],
    format: [2, text],
    description: [4, text],
    maxLength: [11, whole],
    maxItems: [14, whole],
    maxProperties: [17, whole],
    required: [19, each(text)],
    additionalProperties: [21, inside(1, schema)],
    type: [22, inside(1, text)],
    items: [23, inside(1, schema)],
    properties: [25, inside(1, named(schema))],
  },
  31,
);

/** ParametersItem, Parameter, NonBodyParameter, and the parameter itself. */
const parameterOf = (field: number, type: number): Encode => {
  const fields: Fields = {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [type, text],
  };
  return inside(1, inside(2, inside(field, object(fields))));
};
const PARAMETERS: Readonly<Record<string, Encode>> = { query: parameterOf(3, 6), path: parameterOf(4, 5) };

const OPERATION = object(
  {
    description: [3, text],
    produces: [6, each(text)],
    consumes: [7, each(text)],
    parameters: [8, each((writer, number, value) => PARAMETERS[String((value as Json).in)]?.(writer, number, value))],
    responses: [9, inside(1, named(inside(1, object({ description: [1, text] }))))],
  },
  13,
);

/** The messages of gnostic's `OpenAPIv2.proto`, with their field numbers. */
const DOCUMENT: Fields = {
  swagger: [1, text],
  info: [2, object({ title: [1, text], version: [2, text] })],
  paths: [8, inside(2, named(object({ patch: [8, OPERATION] })))],
  definitions: [9, inside(1, named(schema))],
};

export function swaggerProtobuf(document: Json): Uint8Array {
  const writer = new BinaryWriter();
  writeFields(writer, DOCUMENT, document);
  return writer.finish();
}
