import type { Cluster } from '../../client/types.ts';
import { terminalSafe } from '../../lib/text.ts';
import {
  type ClusterReference,
  clusterLabel,
  clusterReferences,
  clustersNamed,
  namesAt,
} from '../cluster-references.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, isForAllLogins, type NamedServer } from '../connection/all-servers.ts';
import { readLogins } from '../connection/logins.ts';
import { execCommand, sayAllowListEntry } from '../kubeconfig/exec-command.ts';
import { checkedTemplate } from '../kubeconfig/wanted-contexts.ts';
import { warnOfTokenFlag } from '../kubeconfig/warn-of-token-flag.ts';
import { watchContexts } from '../kubeconfig/watch-contexts.ts';
import {
  printNextStep,
  type ServerClusters,
  unacceptedChanges,
  type WriteSettings,
  writeContexts,
} from '../kubeconfig/write-contexts.ts';
import { passSubject } from '../service-account.ts';
import { nearestClusters, orMeant } from '../suggest-cluster.ts';

export const run: Run = async (context, invocation) => {
  const account = passSubject(invocation);
  const prune = invocation.is('prune');
  const isServer = invocation.is('serverContext') || (account === undefined && !prune);
  const isPruneOnly = account === undefined && !isServer;
  const template = checkedTemplate(invocation.value('contextName'));
  const labelSelector = invocation.text('selector');
  const names = invocation.list('cluster');
  if (names.length > 0 && labelSelector !== undefined) throw new CliError('selectors cannot be combined with names');
  // What is not selected stays, and clusters of other servers cannot be selected.
  const prunesLogouts =
    prune && labelSelector === undefined && names.length === 0 && isForAllLogins(context, invocation);
  // After the last logout, too: its contexts are still in the file.
  const hasNoServer = isPruneOnly && prunesLogouts && Object.keys((await readLogins(context)).logins).length === 0;
  const servers = hasNoServer ? [] : await connectAll(context, invocation);
  for (const { connection } of servers) warnOfTokenFlag(context, invocation, connection.server);
  const settings: WriteSettings = {
    servers,
    account,
    isServer,
    template,
    group: invocation.text('group'),
    command: invocation.text('execCommand') ?? (await execCommand(context)),
    labelSelector,
    references: clusterReferences(names, servers),
    prune,
    prunesLogouts,
    acceptChanges: invocation.is('acceptChanges'),
    isRepeated: false,
  };
  if (!invocation.is('watch') || hasNoServer) return write(context, invocation, settings);
  if (invocation.text('output') === '-') throw new CliError('--watch cannot write to stdout: set --output to a file');
  return watchContexts(context, settings, (silent, isRepeated) =>
    write(silent, invocation, { ...settings, isRepeated }),
  );
};

async function write(context: Context, invocation: Invocation, settings: WriteSettings): Promise<number> {
  const { servers } = settings;
  const { answers, failed } = await askAll(context, servers, (server) => selected(server, settings));
  if (servers.length > 0 && answers.length === 0) return 1;
  const parts = answers.map(({ server, value: clusters }) => ({ server, clusters }));
  const result = await writeContexts(context, invocation, settings, parts);
  const missing = failed.length > 0 ? [] : missingNames(settings, parts);
  const meant = await nearestClusters(servers, missing);
  for (const reference of missing) {
    const { name, server } = reference;
    const label = terminalSafe(server === undefined ? name : clusterLabel(servers, server, name));
    const problem = `there is no such cluster that you may see${orMeant(meant.get(reference))}`;
    context.err.write(`error: ${label}: ${problem}\n`);
  }
  if (!settings.isRepeated) {
    printNextStep(context, invocation, result);
    await sayAllowListEntry(context);
  }
  const isWhole = failed.length === 0 && missing.length === 0 && result.collisions.length === 0;
  return isWhole && unacceptedChanges(settings, result).length === 0 ? 0 : 1;
}

async function selected(
  server: NamedServer,
  { references, labelSelector }: WriteSettings,
): Promise<readonly Cluster[]> {
  if (references.length > 0) return clustersNamed(server, namesAt(server, references));
  return (await server.client.listClusters({ labelSelector })).items;
}

const missingNames = ({ references }: WriteSettings, parts: readonly ServerClusters[]): readonly ClusterReference[] =>
  references.filter(
    ({ name, server: wanted }) =>
      !parts.some(
        ({ server, clusters }) =>
          (wanted === undefined || wanted === server) && clusters.some(({ metadata }) => metadata.name === name),
      ),
  );
