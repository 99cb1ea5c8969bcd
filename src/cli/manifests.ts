import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Catalog } from '../api/catalog.ts';
import { IN_CLUSTER_ANNOTATION, unknownAnnotation, unknownAnnotationText } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { yamlProblem } from './describe-error.ts';
import type { ObjectScope } from './object-path.ts';

/** An object from a file. */
export interface Manifest {
  readonly kind: Kind;
  readonly object: ApiObject;
  readonly scope: ObjectScope;
  readonly name: string;
}

/** Reads all files of `-f`, in order. An error in any of them leaves the server unchanged. */
export async function readManifests(context: Context, invocation: Invocation, catalog: Catalog): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for (const filename of invocation.list('filename')) {
    for (const { source, text } of await readTexts(context, filename)) {
      for (const object of objectsIn(source, text)) manifests.push(toManifest(invocation, catalog, source, object));
    }
  }
  return manifests;
}

async function readTexts(context: Context, filename: string): Promise<{ source: string; text: string }[]> {
  if (filename === '-') return [{ source: 'stdin', text: await context.readStdin() }];
  const path = resolve(context.cwd, filename);
  try {
    const isFolder = (await stat(path)).isDirectory();
    const files = isFolder ? (await readdir(path)).filter((name) => /\.(ya?ml|json)$/.test(name)).sort() : [''];
    return await Promise.all(
      files.map(async (name) => ({ source: join(filename, name), text: await readFile(join(path, name), 'utf8') })),
    );
  } catch (error) {
    throw new CliError(`cannot read ${filename}: ${fileProblem(error)}`);
  }
}

/** JSON is YAML, so one parser reads both. */
function* objectsIn(source: string, text: string): Generator<unknown> {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return;
  for (const document of documents) {
    const [problem] = document.errors;
    if (problem !== undefined) throw new CliError(`${source}: ${yamlProblem(problem)}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) continue;
    const { kind, items } = value as { kind?: unknown; items?: unknown };
    if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) yield* items;
    else yield value;
  }
}

function toManifest(invocation: Invocation, catalog: Catalog, source: string, value: unknown): Manifest {
  // An item of a list can be null, or of any other type.
  const object = (value ?? {}) as ApiObject;
  const { apiVersion, kind: kindName, metadata } = object;
  if (typeof apiVersion !== 'string' || typeof kindName !== 'string' || typeof metadata?.name !== 'string') {
    throw new CliError(`${source}: an object needs apiVersion, kind and metadata.name`);
  }
  const kind = catalog.findKind(apiVersion, kindName);
  if (kind === undefined) {
    throw new CliError(
      `${source}: no matches for kind ${JSON.stringify(kindName)} in version ${JSON.stringify(apiVersion)}`,
    );
  }
  const namespace = invocation.text('namespace');
  if (
    kind.namespaced &&
    namespace !== undefined &&
    metadata.namespace !== undefined &&
    metadata.namespace !== namespace
  ) {
    throw new CliError(
      `${source}: the namespace from the object, ${JSON.stringify(metadata.namespace)}, does not match ${JSON.stringify(namespace)}`,
    );
  }
  const unknown = unknownAnnotation(kind.kind, metadata.annotations ?? {});
  if (unknown !== undefined) {
    throw new CliError(
      `${source}: annotation ${JSON.stringify(unknown)}: ${unknownAnnotationText(kind.kind, unknown)}`,
    );
  }
  const inCluster = metadata.annotations?.[IN_CLUSTER_ANNOTATION];
  const cluster = invocation.text('cluster');
  if (inCluster !== undefined && cluster !== undefined && inCluster !== cluster) {
    throw new CliError(
      `${source}: the cluster from the object, ${JSON.stringify(inCluster)}, does not match ${JSON.stringify(cluster)}`,
    );
  }
  const scope = {
    cluster: inCluster ?? cluster,
    namespace: metadata.namespace ?? namespace,
    isFromFile: true,
  };
  return { kind, object, scope, name: metadata.name };
}
