import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Catalog } from '../api/catalog.ts';
import { decodeValue } from '../api/codec/decode.ts';
import { droppedText } from '../api/codec/keep-part.ts';
import { parseJson } from '../api/codec/parse-json.ts';
import { parseYamlDocuments } from '../api/codec/parse-yaml.ts';
import { toPlain } from '../api/codec/tree.ts';
import { duplicatesIn } from '../api/codec/violations.ts';
import { IN_CLUSTER_ANNOTATION } from '../api/domain-keys.ts';
import { type ApiObject, type Kind, type ObjectKey, storageKey } from '../api/kind.ts';
import type { JsonValue } from '../lib/json.ts';
import { utf8Text } from '../lib/text.ts';
import type { Work } from '../lib/work-queue.ts';

export interface ManifestPosition {
  /** Relative to the folder. */
  readonly file: string;
  /** Counted from 1; 0 for the whole file. */
  readonly document: number;
}

export interface Manifest extends ManifestPosition {
  readonly kind: Kind;
  readonly objectKey: ObjectKey;
  readonly object: ApiObject;
}

/** An error in a document, for the person who wrote it. */
export interface ManifestProblem extends ManifestPosition {
  readonly message: string;
}

export interface Manifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly ManifestProblem[];
  /** Of documents that were read in part: their kind does not keep all fields. */
  readonly warnings: readonly ManifestProblem[];
}

interface ReadOptions {
  /** The served kinds. */
  readonly catalog: Catalog;
  readonly work: Work;
  /** Changes the text of each file, e.g. one that was written for another product name. */
  readonly edit?: ((text: string) => string) | undefined;
}

const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Of one document. The files are trusted, but a very large one must not block the server. */
const MAX_DOCUMENT_TOKENS = 200_000;

/** All YAML and JSON files below a folder, or the one file, sorted by name. */
export async function findManifestFiles(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !isHidden(relative(path, file)))
    .sort();
}

/** Editors have their backup copies under such names, and a mounted ConfigMap its versions. */
const isHidden = (file: string): boolean => file.split('/').some((part) => part.startsWith('.'));

/** Reads all valid documents. An invalid one is reported and left out. */
export async function readManifests(root: string, options: ReadOptions): Promise<Manifests> {
  const manifests = new Map<string, Manifest>();
  const problems: ManifestProblem[] = [];
  const warnings: ManifestProblem[] = [];
  const { work, edit = (text) => text } = options;
  const add = (manifest: Manifest): void => {
    const key = storageKey(manifest.kind, manifest.objectKey);
    const first = manifests.get(key);
    if (first !== undefined) throw new Error(`already defined in ${first.file}, document ${first.document}`);
    manifests.set(key, manifest);
  };
  for (const path of await findManifestFiles(root)) {
    const file = relative(root, path) || path;
    try {
      for (const [at, parse] of documentsIn(path, edit(await readText(path))).entries()) {
        const position = { file, document: at + 1 };
        // A folder may have thousands of documents, and it is read again while requests are served.
        if (work.isUsedUp) await work.turn();
        try {
          const content = parse();
          if (content === null) continue;
          const { dropped, ...read } = readObject(options, content);
          add({ ...position, ...read });
          if (dropped.length > 0) warnings.push({ ...position, message: droppedText(read.kind.kind, dropped) });
        } catch (error) {
          problems.push({ ...position, message: messageOf(error) });
        }
      }
    } catch (error) {
      problems.push({ file, document: 0, message: messageOf(error) });
    }
  }
  return { manifests: [...manifests.values()], problems, warnings };
}

async function readText(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_FILE_BYTES) {
    throw new Error(`the file has ${size} bytes, more than the limit of ${MAX_FILE_BYTES}`);
  }
  const text = utf8Text(await readFile(path));
  if (text === undefined) throw new Error('the file is not UTF-8');
  return text;
}

/** Parsed as request bodies are. */
function documentsIn(path: string, text: string): (() => JsonValue)[] {
  if (path.endsWith('.json')) return [() => parseUnique(text)];
  return splitDocuments(text).map((content) => () => parseYaml(content));
}

/** As in YAML, a key that is there twice is an error. */
function parseUnique(text: string): JsonValue {
  const root = parseJson(Buffer.from(text));
  const duplicates = duplicatesIn(root);
  if (duplicates.length > 0) throw new Error(duplicates.join(', '));
  return toPlain(root);
}

/**
 * Splits a file at the lines that start with `---`, before anything is parsed, as kubectl does: a syntax error in one
 * document does not affect the others. Documents without content are not counted.
 */
export const splitDocuments = (text: string): string[] =>
  text.split(/^---(?=\s|$)/m).filter((document) => document.split('\n').some((line) => !/^\s*(#|$)/.test(line)));

function parseYaml(text: string): JsonValue {
  for (const { root, duplicates } of parseYamlDocuments(text, MAX_DOCUMENT_TOKENS)) {
    if (duplicates.length > 0) throw new Error(duplicates.join(', '));
    return toPlain(root);
  }
  return null;
}

function readObject({ catalog }: ReadOptions, content: JsonValue) {
  const { apiVersion, kind: kindName } = typeOf(content);
  const kind = catalog.findKind(apiVersion, kindName);
  if (kind === undefined) throw new Error(`kind: ${kindName} in ${apiVersion} is not served here`);
  if (kind.verbs !== undefined)
    throw new Error(`kind: a ${kindName} is created by the server and cannot be in a manifest`);
  const { value: object, dropped } = decodeValue(content, kind, 'Strict');
  return { kind, objectKey: objectKeyOf(kind, object), object, dropped };
}

function objectKeyOf(kind: Kind, { metadata }: ApiObject): ObjectKey {
  const { name = '', namespace = '' } = metadata;
  const cluster = metadata.annotations?.[IN_CLUSTER_ANNOTATION] ?? '';
  if (kind.inCluster && cluster === '') {
    throw new Error(
      `metadata.annotations[${IN_CLUSTER_ANNOTATION}]: Required value: the cluster that this ${kind.kind} lives in`,
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

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
