import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import type { ApiObject } from '../../api/kind.ts';
import { isHandle, passAccount, passSpec } from '../../api/kinds/pass-spec.ts';
import { kubeconfigOf, passContext } from '../../api/kubeconfig.ts';
import type { Client } from '../../client/create-client.ts';
import { sha256 } from '../../lib/sha256.ts';
import { publicCluster } from '../clusters.ts';
import { CliError, type Context } from '../command.ts';
import type { Connection } from '../connection/connection.ts';
import { deletePassCredentials } from '../connection/credential-cache.ts';
import { cacheFolder, writePrivate } from '../files/files.ts';
import { endpointFor, localAddressTo } from './cluster-endpoint.ts';
import { execCommand } from './exec-command.ts';

/** Files of passes that have ended: no pass lives as long. */
const MAX_AGE_MS = 3_600_000;

const folderOf = ({ env }: Context, server: string): string =>
  join(cacheFolder(env), 'passes', sha256(server).slice(0, 40));

/**
 * Writes a kubeconfig, mode 0600, whose exec plugin redeems the pass with the login of the person, and returns its
 * path. The file contains no secret: the handle opens nothing by itself.
 */
export async function writePassKubeconfig(
  context: Context,
  connection: Connection,
  client: Pick<Client, 'listClusters'>,
  pass: ApiObject,
): Promise<string> {
  const handle = pass.metadata.name ?? '';
  // It becomes a file name and an argument of a program.
  if (!isHandle(handle)) throw new CliError('the server did not answer with a pass');
  const spec = passSpec(pass);
  const { cluster: name, ...account } = passAccount(spec);
  const cluster = await publicCluster(client, name);
  if (cluster === undefined) {
    throw new CliError(`no kubeconfig for ${handle}: your roles do not allow you to see the cluster ${name}`);
  }
  // kubectl would send a token for another API to the cluster.
  const { audiences = [] } = spec;
  if (
    audiences.length > 0 &&
    !audiences.includes(cluster.metadata.annotations?.[COMPUTED_ANNOTATIONS.audience] ?? '')
  ) {
    throw new CliError(`no kubeconfig for ${handle}: its token is for ${audiences.join(', ')} and not for the cluster`);
  }
  const endpoint = endpointFor(cluster, await localAddressTo(connection.server));
  if (typeof endpoint === 'string') throw new CliError(`no kubeconfig for ${handle}: the cluster ${name}: ${endpoint}`);
  const { server: baseUrl, productName } = connection;
  const command = await execCommand(context);
  const entry = passContext({ cluster: name, ...endpoint, baseUrl, account, productName, pass: handle, command });
  const folder = folderOf(context, baseUrl);
  await deleteOld(context, folder);
  const file = join(folder, `${handle}.yaml`);
  await writePrivate(file, stringify(kubeconfigOf([entry])));
  return file;
}

/** Deletes what this machine has of a pass: the kubeconfig, and the tokens in the cache. */
export async function forgetPass(context: Context, server: string, handle: string): Promise<void> {
  if (!isHandle(handle)) return;
  await rm(join(folderOf(context, server), `${handle}.yaml`), { force: true });
  await deletePassCredentials(context, server, handle);
}

export const deletePassKubeconfigs = (context: Context, server: string): Promise<void> =>
  rm(folderOf(context, server), { recursive: true, force: true });

async function deleteOld(context: Context, folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs + MAX_AGE_MS < context.now()) await rm(file, { force: true });
  }
}
