import { isDeepStrictEqual } from 'node:util';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { type DryRun, dryRunNote, dryRunOf } from '../dry-run.ts';
import { type Manifest, readManifests } from '../manifests.ts';
import { collectionPath, objectPath } from '../object-path.ts';
import { asList, printerFor, qualifiedName } from '../output/printer.ts';

/** Creates missing objects and patches existing ones. Continues after an error. */
export const run: Run = async (context, invocation) => {
  if (invocation.list('filename').length === 0) throw new CliError('must specify -f');
  const dryRun = dryRunOf(invocation);
  const options = applyOptionsOf(invocation, dryRun);
  const print = await printerFor(invocation.text('output'), ['json', 'jsonpath', 'name', 'yaml']);
  const client = await connect(context, invocation);
  const manifests = await readManifests(context, invocation, createCatalog(client));
  if (manifests.length === 0) throw new CliError('no objects passed to apply');
  const created = new CreatedParents();
  const results: ApiObject[] = [];
  let failed = false;
  for (const [index, manifest] of manifests.entries()) {
    context.progress.count(index, manifests.length);
    try {
      const parent = dryRun === 'server' ? created.parentOf(manifest) : undefined;
      const { action, object } =
        parent === undefined
          ? await applyOne(client, manifest, options)
          : { action: 'created', object: manifest.object };
      if (action === 'created') created.add(manifest);
      results.push(object);
      if (print !== undefined) continue;
      const { apiVersion, kind } = manifest.object;
      const note = parent === undefined ? dryRunNote[dryRun] : ` (server dry run, not checked: its ${parent} is new)`;
      context.out.write(`${qualifiedName(apiVersion, kind)}/${manifest.name} ${action}${note}\n`);
    } catch (error) {
      const text = describeError(error);
      if (text === undefined) throw error;
      failed = true;
      context.err.write(`${text}\n`);
      if (options.serverSide && isStatus(error, 409)) context.err.write(CONFLICT_HINT);
    }
  }
  if (print !== undefined && results.length > 0) {
    context.out.write(print(manifests.length === 1 ? results[0] : asList(results)));
  }
  return failed ? 1 : 0;
};

const CONFLICT_HINT =
  'Remove the fields from the file to leave them to their manager, or take them over with --force-conflicts.\n';

interface ApplyOptions {
  readonly dryRun: DryRun;
  readonly serverSide: boolean;
  readonly force: boolean;
  readonly fieldManager: string;
}

/** The combinations that kubectl refuses, too. */
function applyOptionsOf(invocation: Invocation, dryRun: DryRun): ApplyOptions {
  const serverSide = invocation.is('serverSide');
  const force = invocation.is('forceConflicts');
  if (force && !serverSide) throw new CliError('--force-conflicts only works with --server-side');
  if (serverSide && dryRun === 'client') {
    throw new CliError('--dry-run=client does not work with --server-side; did you mean --dry-run=server?');
  }
  return { dryRun, serverSide, force, fieldManager: invocation.value('fieldManager') };
}

/** Clusters and namespaces that a server dry run did not persist. The server cannot check objects inside of them. */
class CreatedParents {
  readonly #clusters = new Set<string>();
  readonly #namespaces = new Set<string>();

  add({ kind, scope, name }: Manifest): void {
    if (kind.kind === 'Cluster') this.#clusters.add(name);
    else if (kind.kind === 'Namespace') this.#namespaces.add(`${scope.cluster}/${name}`);
  }

  parentOf({ kind, scope: { cluster = '', namespace } }: Manifest): 'cluster' | 'namespace' | undefined {
    if (!kind.inCluster) return undefined;
    if (this.#clusters.has(cluster)) return 'cluster';
    return kind.namespaced && this.#namespaces.has(`${cluster}/${namespace || 'default'}`) ? 'namespace' : undefined;
  }
}

interface Applied {
  readonly action: string;
  /** After the change; with a client dry run, see `applyOne`. */
  readonly object: ApiObject;
}

async function applyOne(client: Client, manifest: Manifest, options: ApplyOptions): Promise<Applied> {
  const { kind, object, scope, name } = manifest;
  const { dryRun, fieldManager } = options;
  const path = objectPath(client, kind, scope, name);
  const query = {
    fieldManager,
    fieldValidation: 'Strict',
    ...(dryRun === 'server' ? { dryRun: 'All' } : {}),
  };
  if (options.serverSide) {
    const contentType = 'application/apply-patch+yaml';
    const forced = { ...query, force: String(options.force) };
    const response = await client.request<ApiObject>('PATCH', path, {
      query: forced,
      body: object,
      contentType,
      expects: 'object',
    });
    // Of a server dry run, so that objects inside of it are not checked.
    const action = response.code === 201 && dryRun === 'server' ? 'created' : 'serverside-applied';
    return { action, object: response.value };
  }
  let before: ApiObject;
  try {
    before = (await client.request<ApiObject>('GET', path, { expects: 'object' })).value;
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
    if (dryRun === 'client') return { action: 'created', object };
    const { resourceVersion: _, uid: __, creationTimestamp: ___, ...metadata } = object.metadata;
    const body = { ...object, metadata };
    const response = await client.request<ApiObject>('POST', collectionPath(client, kind, scope), {
      query,
      body,
      expects: 'object',
    });
    return { action: 'created', object: response.value };
  }
  const { status: _, ...body } = object;
  // As in kubectl, a client dry run prints the existing object.
  if (dryRun === 'client') return { action: matches(before, body) ? 'unchanged' : 'configured', object: before };
  const contentType = 'application/merge-patch+json';
  const { value: after } = await client.request<ApiObject>('PATCH', path, {
    query,
    body,
    contentType,
    expects: 'object',
  });
  const isSame = isDeepStrictEqual(withoutVersion(after), withoutVersion(before));
  return { action: isSame ? 'unchanged' : 'configured', object: after };
}

/** Whether a merge patch (RFC 7396) would leave the object unchanged. */
function matches(object: unknown, patch: unknown): boolean {
  if (patch === null) return object === undefined;
  if (typeof patch !== 'object' || Array.isArray(patch)) return isDeepStrictEqual(object, patch);
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return false;
  return Object.entries(patch).every(([key, value]) =>
    matches(Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined, value),
  );
}

/** A server dry run changes the object but not its resourceVersion. */
const withoutVersion = ({ metadata: { resourceVersion: _, ...metadata }, ...rest }: ApiObject): unknown => ({
  ...rest,
  metadata,
});
