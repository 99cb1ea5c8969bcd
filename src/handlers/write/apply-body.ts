import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { decodeValue } from '../../api/codec/decode.ts';
import { keepPart } from '../../api/codec/keep-part.ts';
import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { parseYaml } from '../../api/codec/parse-yaml.ts';
import { type JsonNode, toPlain } from '../../api/codec/tree.ts';
import { decodeUtf8, requireUnicode } from '../../api/codec/utf8.ts';
import { duplicatesIn } from '../../api/codec/violations.ts';
import { YamlSyntaxError } from '../../api/codec/yaml-tokens.ts';
import { MANIFEST_ANNOTATION } from '../../api/domain-keys.ts';
import { apiVersionOf, type Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import type { SentBody } from '../../api/request.ts';
import { badRequest } from '../../api/status.ts';
import { isJsonObject, type JsonMap, type JsonValue, memberOf } from '../../lib/json.ts';
import { clip } from '../../lib/text.ts';
import { schemaErrors } from '../../objects/patches/apply/schema-errors.ts';

export const APPLY_YAML = 'application/apply-patch+yaml';
/** Not in kube-apiserver. Its bodies must be JSON. */
export const APPLY_JSON = 'application/apply-patch+json';

export interface Configuration {
  readonly config: JsonMap;
  /** AP-18: `line 7: key "a" already set in map`; the last one counts. */
  readonly duplicates: readonly string[];
  /** Paths of fields that the kind does not keep. */
  readonly dropped: readonly string[];
}

/**
 * The configuration of an apply, which fits the schema of the kind.
 *
 * @throws ApiError 400 (AP-10 to AP-12, AP-25 to AP-28). kube-apiserver answers 500 where the schema does not fit.
 */
export function readConfiguration(body: SentBody, kind: Kind): Configuration {
  const { root: sent, duplicates } = parse(body);
  // Fields that the kind does not keep are dropped with a warning, and have no owner.
  const { root, dropped } = keepPart(sent, kind.shape);
  const config = toPlain(root) ?? {};
  if (!isJsonObject(config)) throw badRequest('error decoding YAML: the body of an apply must be an object');
  checkType(config, kind);
  const metadata = memberOf(config, 'metadata');
  if (isJsonObject(metadata) && (memberOf(metadata, 'managedFields') ?? null) !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problem = schemaErrors(config, kind.shape);
  if (problem !== undefined)
    throw badRequest(`failed to create typed patch object (${nameOf(config, kind)}): ${problem}`);
  // Refuses what is larger than the schema allows, before the merge works on it.
  decodeValue(config, kind, 'Ignore');
  return { config: withoutServerAnnotations(config, kind), duplicates, dropped };
}

interface Parsed {
  readonly root: JsonNode;
  readonly duplicates: readonly string[];
}

/** Nearly every client sends JSON, which is YAML: that parser is faster and takes larger bodies. */
function parse({ bytes, mediaType }: SentBody): Parsed {
  if (bytes.length === 0) return { root: null, duplicates: [] };
  try {
    const root = parseJson(bytes);
    const duplicates = duplicatesIn(root);
    if (duplicates.length === 0 || mediaType === APPLY_JSON) return { root, duplicates };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    if (mediaType === APPLY_JSON) throw badRequest(`error decoding JSON: ${error.message}`);
  }
  try {
    return parseYaml(requireUnicode(() => decodeUtf8(bytes)));
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw badRequest(`error decoding YAML: ${error.message}`);
  }
}

/** AP-11 */
function checkType(config: JsonMap, kind: Kind): void {
  const [apiVersion, name] = [stringOr(memberOf(config, 'apiVersion')), stringOr(memberOf(config, 'kind'))];
  if (apiVersion === apiVersionOf(kind) && name === kind.kind) return;
  throw badRequest(`invalid object type: ${goGroupVersion(clip(apiVersion))}, Kind=${clip(name)}`);
}

/** As Go prints a group and version: the core group is empty. */
const goGroupVersion = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion : `/${apiVersion}`);

const stringOr = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

function nameOf(config: JsonMap, kind: Kind): string {
  const metadata = memberOf(config, 'metadata');
  const part = (name: string): string => (isJsonObject(metadata) ? clip(stringOr(memberOf(metadata, name))) : '');
  return `${part('namespace')}/${part('name')}; ${goGroupVersion(apiVersionOf(kind))}, Kind=${kind.kind}`;
}

/** Annotations that the server computes or sets are not applied, and have no owner. */
function withoutServerAnnotations(config: JsonMap, kind: Kind): JsonMap {
  const metadata = memberOf(config, 'metadata');
  const annotations = isJsonObject(metadata) ? memberOf(metadata, 'annotations') : undefined;
  if (!isJsonObject(metadata) || !isJsonObject(annotations)) return config;
  const ours = [MANIFEST_ANNOTATION, ...(isClusters(kind) ? Object.values(COMPUTED_ANNOTATIONS) : [])];
  if (!ours.some((key) => Object.hasOwn(annotations, key))) return config;
  const others = Object.entries(annotations).filter(([key]) => !ours.includes(key));
  return { ...config, metadata: { ...metadata, annotations: Object.fromEntries(others) } };
}
