import { readyStatus } from '../../api/clusters/conditions.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connectAll, isForAllLogins } from '../connection/all-servers.ts';
import { readLogins } from '../connection/logins.ts';
import { execCommand, warnOfTokenFlag } from '../kubeconfig/exec-command.ts';
import { checkedTemplate } from '../kubeconfig/wanted-contexts.ts';
import { watchContexts } from '../kubeconfig/watch-contexts.ts';
import { isWritten, printNextStep, type WriteSettings, writeContexts } from '../kubeconfig/write-contexts.ts';
import { choose } from '../picker.ts';
import {
  clusterChoice,
  clusterLabel,
  clusterReferences,
  type LocatedCluster,
  selectedClusters,
} from '../select-clusters.ts';
import { type PassSubject, parseServiceAccount, passSubject, usableSubjects } from '../service-account.ts';

export const writeKubeconfig: Run = async (context, invocation) => {
  const given = await givenSettings(context, invocation);
  const { account } = given;
  const prune = invocation.is('prune');
  const isServer = invocation.is('serverContext') || (account === undefined && !prune);
  const isPruneOnly = account === undefined && !isServer;
  const isSelection = invocation.text('selector') !== undefined || invocation.list('cluster').length > 0;
  // What is not selected stays, and clusters of other servers cannot be selected.
  const prunesLogouts = prune && !isSelection && isForAllLogins(context, invocation);
  // After the last logout, too: its contexts are still in the file.
  const hasNoServer = isPruneOnly && prunesLogouts && Object.keys((await readLogins(context)).logins).length === 0;
  const servers = hasNoServer ? [] : await connectAll(context, invocation);
  for (const { connection } of servers) warnOfTokenFlag(context, invocation, connection.server);
  const choice = clusterChoice(invocation, servers);
  const settings: WriteSettings = { ...given, ...choice, servers, isServer, prune, prunesLogouts };
  if (!invocation.is('watch') || hasNoServer) return write(context, invocation, settings);
  if (invocation.text('output') === '-') throw new CliError('--watch cannot write to stdout: set --output to a file');
  return watchContexts(context, settings, (silent, isRepeated) =>
    write(silent, invocation, { ...settings, isRepeated }),
  );
};

const givenSettings = async (context: Context, invocation: Invocation) => ({
  account: passSubject(invocation),
  group: invocation.text('group'),
  template: checkedTemplate(invocation.value('contextName')),
  command: invocation.text('execCommand') ?? (await execCommand(context)),
  acceptChanges: invocation.is('acceptChanges'),
});

async function write(context: Context, invocation: Invocation, settings: WriteSettings): Promise<number> {
  const { servers } = settings;
  const { parts, isWhole } = await selectedClusters(context, servers, settings);
  if (servers.length > 0 && parts.length === 0) return 1;
  const result = await writeContexts(context, invocation, settings, parts);
  if (!settings.isRepeated) await printNextStep(context, invocation, result);
  return isWhole && isWritten(settings, result) ? 0 : 1;
}

/** Writes the context of one cluster, as `clusterpass kubeconfig` does, and makes it the current one. */
export const useCluster: Run = async (context, invocation) => {
  const given = await givenSettings(context, invocation);
  const servers = await connectAll(context, invocation);
  for (const { connection } of servers) warnOfTokenFlag(context, invocation, connection.server);
  const choice = { references: clusterReferences(invocation.args, servers) };
  const { parts, isWhole } = await selectedClusters(context, servers, choice);
  const found = parts.flatMap(({ server, clusters }) => clusters.map((cluster) => ({ server, cluster })));
  if (found.length === 0 && !isWhole) return 1;
  const choices = found.map((value) => {
    const ready = readyStatus(value.cluster.status ?? {});
    const label = clusterLabel(servers, value.server, value.cluster.metadata.name);
    return { order: ORDER[ready], label: ready === 'False' ? `${label} (not ready)` : label, value };
  });
  const readyFirst = sortedBy(choices, ({ order, label }) => `${order} ${label}`);
  const located = await choose(context, 'name the cluster', readyFirst);
  const account = given.account ?? (await chosenSubject(context, located));
  const settings = { ...given, ...choice, servers, account, makesCurrent: true };
  const { server, cluster } = located;
  const result = await writeContexts(context, invocation, settings, [{ server, clusters: [cluster] }]);
  await printNextStep(context, invocation, result);
  return isWritten(settings, result) && result.written.length > 0 ? 0 : 1;
};

const ORDER = { True: 0, Unknown: 1, False: 2 };

async function chosenSubject(context: Context, { server, cluster }: LocatedCluster): Promise<PassSubject> {
  const { name } = cluster.metadata;
  const [{ subjects } = { subjects: [] }] = await usableSubjects(server.client, [name]);
  if (subjects.length === 0) {
    const ask = `clusterpass request create --cluster ${name} --account NAMESPACE/NAME --reason '...'`;
    throw new CliError(`you get passes of no account in ${terminalSafe(name)}; ask for one: ${ask}`);
  }
  const choices = subjects.map((subject) => ({ label: subject === 'me' ? 'me (--as-me)' : subject, value: subject }));
  const subject = await choose(context, `set --as-me, or --as with an account of ${terminalSafe(name)}`, choices);
  return subject === 'me' ? subject : parseServiceAccount(subject, '--as');
}
