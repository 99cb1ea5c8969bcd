import { isDeepStrictEqual } from 'node:util';
import { createCatalog } from '../api/catalog.ts';
import type { ApiObject } from '../api/kind.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { CliError, type Run } from './command.ts';
import { connect } from './connection.ts';
import { isDryRun } from './dry-run.ts';
import { type Manifest, readManifests } from './manifests.ts';
import { collectionPath, objectPath } from './object-path.ts';
import { qualifiedName } from './output.ts';
import { describeError } from './report-error.ts';

/** Creates what is missing, and sets in the rest what the files say. One that fails does not stop the others. */
export const run: Run = async (context, invocation) => {
  if (invocation.list('filename').length === 0) throw new CliError('must specify -f');
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  const manifests = await readManifests(context, invocation, createCatalog(client));
  if (manifests.length === 0) throw new CliError('no objects passed to apply');
  const added = new Added();
  let failed = false;
  for (const manifest of manifests) {
    try {
      const around = dryRun ? added.around(manifest) : undefined;
      const done = around === undefined ? await applyOne(client, manifest, dryRun) : 'created';
      if (done === 'created') added.add(manifest);
      const { apiVersion, kind } = manifest.object;
      const unchecked = around === undefined ? '' : `, not checked: its ${around} is new`;
      context.out.write(
        `${qualifiedName(apiVersion, kind)}/${manifest.name} ${done}${dryRun ? ` (server dry run${unchecked})` : ''}\n`,
      );
    } catch (error) {
      const text = describeError(error);
      if (text === undefined) throw error;
      failed = true;
      context.err.write(`${text}\n`);
    }
  }
  return failed ? 1 : 0;
};

/** What a dry run would have added by now: the server cannot check what is to live inside that. */
class Added {
  readonly #clusters = new Set<string>();
  readonly #namespaces = new Set<string>();

  add({ kind, place, name }: Manifest): void {
    if (kind.kind === 'Cluster') this.#clusters.add(name);
    else if (kind.kind === 'Namespace') this.#namespaces.add(`${place.cluster}/${name}`);
  }

  around({ kind, place: { cluster = '', namespace } }: Manifest): 'cluster' | 'namespace' | undefined {
    if (!kind.inCluster) return undefined;
    if (this.#clusters.has(cluster)) return 'cluster';
    return kind.namespaced && this.#namespaces.has(`${cluster}/${namespace || 'default'}`) ? 'namespace' : undefined;
  }
}

async function applyOne(client: Client, { kind, object, place, name }: Manifest, dryRun: boolean): Promise<string> {
  const path = objectPath(client, kind, place, name);
  const query = { fieldManager: 'clusterpass', fieldValidation: 'Strict', ...(dryRun ? { dryRun: 'All' } : {}) };
  let before: ApiObject;
  try {
    before = (await client.request<ApiObject>('GET', path)).value;
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
    const { resourceVersion: _, uid: __, creationTimestamp: ___, ...metadata } = object.metadata;
    await client.request('POST', collectionPath(client, kind, place), { query, body: { ...object, metadata } });
    return 'created';
  }
  const { status: _, ...body } = object;
  const contentType = 'application/merge-patch+json';
  const { value: after } = await client.request<ApiObject>('PATCH', path, { query, body, contentType });
  return isDeepStrictEqual(withoutVersion(after), withoutVersion(before)) ? 'unchanged' : 'configured';
}

/** A dry run changes the object and not its version. */
const withoutVersion = ({ metadata: { resourceVersion: _, ...metadata }, ...rest }: ApiObject): unknown => ({
  ...rest,
  metadata,
});
