import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connectAll, isForAllLogins } from '../connection/all-servers.ts';
import { readLogins } from '../connection/logins.ts';
import { execCommand, sayAllowListEntry } from '../kubeconfig/exec-command.ts';
import { checkedTemplate } from '../kubeconfig/wanted-contexts.ts';
import { warnOfTokenFlag } from '../kubeconfig/warn-of-token-flag.ts';
import { watchContexts } from '../kubeconfig/watch-contexts.ts';
import { isWritten, printNextStep, type WriteSettings, writeContexts } from '../kubeconfig/write-contexts.ts';
import { clusterChoice, selectedClusters } from '../select-clusters.ts';
import { passSubject } from '../service-account.ts';

export const run: Run = async (context, invocation) => {
  const account = passSubject(invocation);
  const prune = invocation.is('prune');
  const isServer = invocation.is('serverContext') || (account === undefined && !prune);
  const isPruneOnly = account === undefined && !isServer;
  const template = checkedTemplate(invocation.value('contextName'));
  const isSelection = invocation.text('selector') !== undefined || invocation.list('cluster').length > 0;
  // What is not selected stays, and clusters of other servers cannot be selected.
  const prunesLogouts = prune && !isSelection && isForAllLogins(context, invocation);
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
    ...clusterChoice(invocation, servers),
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
  const { parts, isWhole } = await selectedClusters(context, servers, settings);
  if (servers.length > 0 && parts.length === 0) return 1;
  const result = await writeContexts(context, invocation, settings, parts);
  if (!settings.isRepeated) {
    printNextStep(context, invocation, result);
    await sayAllowListEntry(context);
  }
  return isWhole && isWritten(settings, result) ? 0 : 1;
}
