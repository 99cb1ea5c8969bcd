import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Catalog } from '../api/catalog.ts';
import { decodeValue } from '../api/codec/decode.ts';
import { parseJson } from '../api/codec/parse-json.ts';
import { parseYamlDocuments } from '../api/codec/parse-yaml.ts';
import { type JsonValue, toPlain } from '../api/codec/tree.ts';
import { YamlSyntaxError } from '../api/codec/yaml-tokens.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { type ObjectKey, storageKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import { splitDocuments } from './split-documents.ts';

/** Says in which cluster an object lives that does not live at the fleet. */
export const CLUSTER_ANNOTATION = 'clusterpass.dev/cluster';

/** Where something stands in a folder. */
interface Position {
  /** Relative to the folder. */
  readonly file: string;
  /** Counted from 1; 0 when it is about the whole file. */
  readonly document: number;
  /** The line on which the document starts; 0 as above. */
  readonly line: number;
}

export interface Manifest extends Position {
  readonly kind: Kind;
  readonly objectKey: ObjectKey;
  readonly object: ApiObject;
}

/** What is wrong with a document, in words for the person who wrote it. */
export interface ManifestProblem extends Position {
  readonly message: string;
}

export interface Manifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly ManifestProblem[];
}

export interface ReadOptions {
  /** The kinds that are served. */
  readonly catalog: Catalog;
  /** The kinds as they are called in the files, where that differs: under another product name. */
  readonly writtenFor?: Catalog;
}

const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Of one document: operators' files are trusted, but a runaway one must not stop the server. */
const MAX_DOCUMENT_TOKENS = 200_000;

/** All YAML and JSON files below a folder, or the one file, in order of their names. */
export async function findManifestFiles(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !isHidden(relative(path, file)))
    .sort();
}

/** Editors keep their copies under such names, and a mounted ConfigMap its versions. */
const isHidden = (file: string): boolean => file.split('/').some((part) => part.startsWith('.'));

/** Reads everything that can be read. A bad document is reported and left out; its neighbours still count. */
export async function readManifests(root: string, options: ReadOptions): Promise<Manifests> {
  const manifests = new Map<string, Manifest>();
  const problems: ManifestProblem[] = [];
  const take = (manifest: Manifest): void => {
    const key = storageKey(manifest.kind, manifest.objectKey);
    const twin = manifests.get(key);
    if (twin !== undefined) throw new Error(`it is in ${twin.file}, document ${twin.document}, already`);
    manifests.set(key, manifest);
  };
  for (const path of await findManifestFiles(root)) {
    const file = relative(root, path) || path;
    try {
      for (const { document, line, parse } of documentsIn(path, await readText(path))) {
        const position = { file, document, line };
        try {
          const content = parse();
          if (content !== null) take({ ...position, ...readObject(options, content) });
        } catch (error) {
          problems.push({ ...position, message: messageOf(error) });
        }
      }
    } catch (error) {
      problems.push({ file, document: 0, line: 0, message: messageOf(error) });
    }
  }
  return { manifests: [...manifests.values()], problems };
}

async function readText(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_FILE_BYTES) {
    throw new Error(`the file has ${size} bytes, more than the ${MAX_FILE_BYTES} that are read`);
  }
  return readFile(path, 'utf8');
}

/** Read as the body of a request is: the same text means the same here and there. */
function documentsIn(path: string, text: string): { document: number; line: number; parse: () => JsonValue }[] {
  if (path.endsWith('.json')) return [{ document: 1, line: 1, parse: () => toPlain(parseJson(Buffer.from(text))) }];
  return splitDocuments(text).map(({ content, ...position }) => ({
    ...position,
    parse: () => parseYaml(content, position.line),
  }));
}

/** Null when there is nothing in it. */
function parseYaml(text: string, firstLine: number): JsonValue {
  // The parser counts from the start of the document, people from the start of the file.
  const inFile = (message: string): string =>
    message.replaceAll(/\bline (\d+)/g, (_, line: string) => `line ${Number(line) + firstLine - 1}`);
  try {
    for (const { root, duplicates } of parseYamlDocuments(text, MAX_DOCUMENT_TOKENS)) {
      if (duplicates.length > 0) throw new YamlSyntaxError(duplicates.join(', '));
      return toPlain(root);
    }
    return null;
  } catch (error) {
    throw error instanceof YamlSyntaxError ? new YamlSyntaxError(inFile(error.message)) : error;
  }
}

function readObject({ catalog, writtenFor = catalog }: ReadOptions, content: JsonValue) {
  const { apiVersion, kind: kindName } = typeOf(content);
  const written = writtenFor.findKind(apiVersion, kindName);
  const kind = catalog.findKind(apiVersion, kindName);
  if (written === undefined || kind === undefined) {
    const known = catalog.kinds
      .filter(({ verbs }) => verbs === undefined)
      .map((one) => `${one.kind} (${one.group === '' ? '' : `${one.group}/`}${one.version})`);
    throw new Error(`kind: ${kindName} in ${apiVersion} is not kept here, only ${known.join(', ')}`);
  }
  if (kind.verbs !== undefined)
    throw new Error(`kind: a ${kindName} is made by the server, and can not come from a file`);
  const object = renamed(decodeValue(content, written, 'Strict').value, written, kind);
  return { kind, objectKey: objectKeyOf(kind, object), object };
}

/** What is stored is the same under every product name, so it is the way from one to another. */
function renamed(object: ApiObject, from: Kind, to: Kind): ApiObject {
  if (from === to) return object;
  const stored = from.storedForm?.toStored(object) ?? object;
  return to.storedForm?.fromStored(stored) ?? stored;
}

function objectKeyOf(kind: Kind, { metadata }: ApiObject): ObjectKey {
  const { name = '', namespace = '' } = metadata;
  const cluster = metadata.annotations?.[CLUSTER_ANNOTATION] ?? '';
  if (kind.inCluster && cluster === '') {
    throw new Error(
      `metadata.annotations[${CLUSTER_ANNOTATION}]: Required value: the cluster that this ${kind.kind} lives in`,
    );
  }
  if (kind.namespaced && namespace === '') throw new Error('metadata.namespace: Required value');
  if (name === '') throw new Error('metadata.name: Required value');
  return { cluster: kind.inCluster ? cluster : '', namespace: kind.namespaced ? namespace : '', name };
}

function typeOf(content: JsonValue): { apiVersion: string; kind: string } {
  const { apiVersion, kind } = (typeof content === 'object' ? content : {}) as Record<string, unknown>;
  if (typeof apiVersion !== 'string') throw new Error('apiVersion: Required value');
  if (typeof kind !== 'string') throw new Error('kind: Required value');
  return { apiVersion, kind };
}

export const messageOf = (error: unknown): string =>
  error instanceof ApiError
    ? (error.status.message ?? error.message)
    : error instanceof Error
      ? error.message
      : String(error);
