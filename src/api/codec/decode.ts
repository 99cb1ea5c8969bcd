import type { JsonValue } from '../../lib/json.ts';
import { clip } from '../../lib/text.ts';
import { type ApiObject, apiVersionOf, type BodyType } from '../kind.ts';
import type { SentBody } from '../request.ts';
import { type ApiError, badRequest, invalid, invalidValue, unsupportedMediaType } from '../status.ts';
import { toJson } from './encode.ts';
import { sortByBytes } from './go-text/go-json-text.ts';
import { goQuote } from './go-text/go-quote.ts';
import { keepPart } from './keep-part.ts';
import { JsonSyntaxError, parseJson } from './parse-json.ts';
import { openEnvelope, ProtobufError, parseMessage } from './parse-protobuf.ts';
import { parseYaml } from './parse-yaml.ts';
import { SchemaReader } from './schema-reader.ts';
import { fromPlain, type JsonNode, ObjectNode } from './tree.ts';
import {
  type GroupVersionKind,
  NO_TYPE,
  parseApiVersion,
  sniffTypeMeta,
  TypeMetaError,
  textMember,
  withDefaults,
} from './type-meta.ts';
import { decodeUtf8 } from './utf8.ts';
import { MAX_REPORTS, type Path, pathText, reportDuplicates, Violations } from './violations.ts';
import { YamlSyntaxError } from './yaml-tokens.ts';

/** How unknown and duplicate fields are handled (S-06, S-09). */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface Decoded<T> {
  /**
   * Only fields of the schema. `kind` and `apiVersion` are those of the type; `metadata` is present if the type has it.
   */
  readonly value: T;
  /** The warnings of Warn mode. Empty in Ignore mode; in Strict mode they are an error. */
  readonly violations: readonly string[];
  /** Paths of fields that the type does not keep; see `keepPart`. In every mode. */
  readonly dropped: readonly string[];
}

interface DecodeOptions {
  /** For a type that every API group has (DeleteOptions): whether this apiVersion is accepted too. */
  readonly acceptsVersion?: (apiVersion: string) => boolean;
  /** A stored object of this type. Parts that the data shares with it by reference were decoded before and are kept. */
  readonly known?: JsonValue;
  /** False for data that may be a secret: no message repeats its bytes. */
  readonly quotesBody?: boolean;
}

/** Kubernetes' binary format: a magic number, the type, and the message. */
export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';
const DECODED_MEDIA_TYPES: Readonly<Record<BodyType['style'], readonly string[]>> = {
  builtin: ['application/json', 'application/yaml', PROTOBUF_TYPE],
  custom: ['application/json', 'application/yaml'],
};

/** Without field numbers every field would be skipped as unknown. */
const decodedMediaTypes = ({ style, shape }: BodyType): readonly string[] =>
  DECODED_MEDIA_TYPES[style].filter((mediaType) => mediaType !== PROTOBUF_TYPE || shape.byNumber.size > 0);

/**
 * Decodes the body of a request. `T` is what the type's schema describes.
 *
 * @throws ApiError 400 when it cannot be parsed or is of another type, 413 when YAML is too large, 415 for other media
 * types, 422 when a list or map is longer than its schema allows, or when a custom resource violates its schema.
 */
export function decodeBody<T extends object = ApiObject>(
  body: SentBody,
  type: BodyType,
  mode: FieldValidation,
  options: DecodeOptions = {},
): Decoded<T> {
  // S-08: protobuf has no field names, so there are no unknown or duplicate ones to report.
  return decodeSource<T>(parse(body, type, options), type, body.mediaType === PROTOBUF_TYPE ? 'Ignore' : mode, options);
}

/** Decodes data that is already parsed: the result of a patch, an object of a manifest. */
export function decodeValue<T extends object = ApiObject>(
  value: JsonValue,
  type: BodyType,
  mode: FieldValidation,
  options: DecodeOptions = {},
): Decoded<T> {
  const root = fromPlain(value, options.known);
  const bytes = (): Uint8Array => Buffer.from(toJson(value));
  return decodeSource<T>({ root, yaml: undefined, unique: true, bytes }, type, mode, options);
}

interface Source {
  readonly root: JsonNode;
  /** The duplicate keys of a YAML body; undefined for other formats. */
  readonly yaml: readonly string[] | undefined;
  /** It comes from objects, which have no duplicate keys. */
  readonly unique?: true;
  /** For messages that quote the body; undefined if they must not. */
  readonly bytes: () => Uint8Array | undefined;
}

function parse({ bytes, mediaType }: SentBody, type: BodyType, { quotesBody = true }: DecodeOptions): Source {
  const quoted = quotesBody ? bytes : undefined;
  try {
    if (mediaType === 'application/json') return { root: parseJson(bytes), yaml: undefined, bytes: () => quoted };
    const decoded = decodedMediaTypes(type);
    if (!decoded.includes(mediaType)) throw unsupportedMediaType(decoded);
    if (mediaType === PROTOBUF_TYPE) return { ...parseProtobuf(bytes, type), bytes: () => quoted };
    const { root, duplicates } = parseYaml(decodeUtf8(bytes));
    return { root, yaml: duplicates, bytes: () => quoted };
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw unrecognized(type, `${NO_TYPE}${error.message}`, quoted);
    if (error instanceof YamlSyntaxError) {
      throw unrecognized(type, `error converting YAML to JSON: ${error.message}`, quoted);
    }
    if (error instanceof ProtobufError) throw unrecognized(type, error.message, quoted);
    throw error;
  }
}

/** The type is outside of the message. A message of another type is not decoded with the fields of this one. */
function parseProtobuf(bytes: Uint8Array, type: BodyType): Omit<Source, 'bytes'> {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  const head = fromPlain({ apiVersion, kind }) as ObjectNode;
  if (kind === '' || kind === type.kind) {
    try {
      const message = parseMessage(raw, type.shape);
      head.keys.push(...message.keys);
      head.values.push(...message.values);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      throw badRequest(
        `${type.kind} in version ${goQuote(type.version)} cannot be handled as a ${type.kind}: ${error.message}`,
      );
    }
  }
  return { root: head, yaml: undefined };
}

function decodeSource<T extends object>(
  source: Source,
  type: BodyType,
  mode: FieldValidation,
  options: DecodeOptions,
): Decoded<T> {
  const sent = typeOf(source, type);
  const refuse = (why: string): ApiError =>
    badRequest(
      `${clip(sent.kind)} in version ${goQuote(clip(sent.version))} cannot be handled as a ${type.kind}: ${why}`,
    );
  if (type.style === 'builtin') checkRegistered(source, sent, type, options, refuse);

  const { root, dropped } = keepPart(source.root, type.shape);
  const { value, reader, violations, duplicates } = read({ ...source, root }, type);
  if (reader.goError !== undefined) throw refuse(reader.goError);
  if (mode === 'Strict' && violations.length > 0) throw refuse(strictText(source, violations));
  if (type.style === 'custom') checkCustom(sent, type, value, reader);
  // Of a key that is sent twice the last value counts, and it may grant more than the first.
  if (type.shape.isStrict && duplicates.length > 0) throw refuse(strictText(source, duplicates));
  if (reader.tooLong.length > 0) throw invalid(type, nameIn(value), reader.tooLong);
  return { value: value as T, violations: mode === 'Ignore' ? [] : violations, dropped };
}

/** D-01 to D-05, D-09, D-12. */
function typeOf(source: Source, type: BodyType): GroupVersionKind {
  try {
    const { kind, apiVersion } = sniffTypeMeta(source.root);
    if (type.style === 'builtin' && kind === '' && apiVersion === '') return type;
    const actual = { ...parseApiVersion(apiVersion), kind };
    return type.style === 'builtin' ? withDefaults(actual, type) : customTypeOf(source);
  } catch (error) {
    if (!(error instanceof TypeMetaError)) throw error;
    throw unrecognized(type, error.message, source.bytes());
  }
}

/** A custom resource gets no defaults, and its keys are case-sensitive. */
function customTypeOf(source: Source): GroupVersionKind {
  const kind = textMember(source.root, 'kind');
  if (kind === '') throw new TypeMetaError(missing('Kind', source));
  return { ...parseApiVersion(textMember(source.root, 'apiVersion')), kind };
}

function missing(what: string, source: Source): string {
  const bytes = source.bytes();
  const where = bytes === undefined ? '' : ` in '${clip(Buffer.from(bytes.subarray(0, 1024)).toString())}'`;
  return `Object '${what}' is missing${where}`;
}

/** D-07, D-08: the message for an unknown kind, also for a known kind that another path serves. */
function checkRegistered(
  source: Source,
  sent: GroupVersionKind,
  type: BodyType,
  { acceptsVersion }: DecodeOptions,
  refuse: (why: string) => ApiError,
): void {
  if (sent.version === '') throw refuse(missing('apiVersion', source));
  const isOwn = sent.group === type.group && sent.version === type.version;
  const version = apiVersionOf(sent);
  if ((isOwn || acceptsVersion?.(version) === true) && sent.kind === type.kind) return;
  throw refuse(`no kind ${goQuote(clip(sent.kind))} is registered for version ${goQuote(clip(version))}`);
}

/** D-13, then the errors of a schema validator for a custom resource. */
function checkCustom(sent: GroupVersionKind, type: BodyType, value: object, { fieldErrors }: SchemaReader): void {
  if (apiVersionOf(sent) !== apiVersionOf(type)) {
    throw badRequest(
      `the API version in the data (${clip(apiVersionOf(sent))}) does not match the expected API version (${apiVersionOf(type)})`,
    );
  }
  const errors = [...fieldErrors];
  if (sent.kind !== type.kind) errors.unshift(invalidValue('kind', clip(sent.kind), `must be ${type.kind}`));
  if (errors.length > 0) throw invalid(type, nameIn(value), errors);
}

const nameIn = (value: object): string => clip((value as { metadata?: { name?: string } }).metadata?.name ?? '');

/** `duplicates`: those of a custom resource. */
function read(source: Source, { style, shape, kind, ...type }: BodyType) {
  const violations = new Violations();
  for (const line of source.yaml ?? []) violations.add(line);
  const isCustom = style === 'custom';
  if (isCustom && source.unique === undefined) reportDuplicates(source.root, undefined, violations);
  const duplicates = [...violations.list];
  const inMetadata: string[] = [];
  const inSchema: string[] = [];
  const reader = new SchemaReader({
    style,
    sorted: source.yaml !== undefined,
    duplicates: isCustom ? undefined : violations,
    onUnknown: isCustom ? sortInto(inMetadata, inSchema) : (path) => violations.unknown(path),
  });
  const value = reader.read(source.root ?? new ObjectNode(), shape, undefined) as Record<string, unknown>;
  // S-05: metadata is read before the schema is applied.
  for (const path of [...sortByBytes(inMetadata), ...sortByBytes(inSchema)]) {
    if (violations.isFull) break;
    violations.add(`unknown field ${goQuote(path)}`);
  }
  value.kind = kind;
  value.apiVersion = apiVersionOf(type);
  if (shape.byName.has('metadata')) value.metadata ??= {};
  return { value, reader, violations: violations.list, duplicates };
}

function sortInto(inMetadata: string[], inSchema: string[]): (path: Path) => void {
  return (path) => {
    let top = path;
    while (top.up !== undefined) top = top.up;
    const list = top !== path && top.key === 'metadata' ? inMetadata : inSchema;
    if (list.length < MAX_REPORTS) list.push(pathText(path));
  };
}

/** S-07: the duplicate keys of YAML are one block; in Warn mode each is one warning. */
function strictText({ yaml = [] }: Source, violations: readonly string[]): string {
  const block = yaml.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${yaml.join('\n  ')}`];
  const others = violations.filter((text) => !yaml.includes(text));
  return `strict decoding error: ${[...block, ...others].join(', ')}`;
}

/** D-03: a body that starts with `{` is quoted as text, any other in hexadecimal. */
function unrecognized(type: BodyType, why: string, bytes: Uint8Array | undefined): ApiError {
  const message = `the object provided is unrecognized (must be of type ${type.kind}): ${why}`;
  if (bytes === undefined) return badRequest(message);
  const head = Buffer.from(bytes.subarray(0, 30));
  const shown = bytes.length === 0 ? '<empty>' : head.toString(bytes[0] === 0x7b ? 'utf8' : 'hex');
  const rest = bytes.length > 30 ? ' ...' : '';
  return badRequest(`${message} (${shown}${rest})`);
}
