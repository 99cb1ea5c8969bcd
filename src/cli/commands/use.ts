import { readyStatus } from '../../api/clusters/conditions.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { terminalSafe } from '../../lib/text.ts';
import { clusterLabel, clusterReferences } from '../cluster-references.ts';
import { CliError, type Context, type Run } from '../command.ts';
import { connectAll } from '../connection/all-servers.ts';
import { execCommand, sayAllowListEntry } from '../kubeconfig/exec-command.ts';
import { checkedTemplate } from '../kubeconfig/wanted-contexts.ts';
import { warnOfTokenFlag } from '../kubeconfig/warn-of-token-flag.ts';
import { isWritten, printNextStep, writeContexts } from '../kubeconfig/write-contexts.ts';
import { choose } from '../picker.ts';
import { type LocatedCluster, selectedClusters } from '../select-clusters.ts';
import { type PassSubject, parseServiceAccount, passSubject } from '../service-account.ts';
import { usableSubjects } from '../usable-subjects.ts';

/** Writes the context of one cluster, as `clusterpass kubeconfig` does, and makes it the current one. */
export const run: Run = async (context, invocation) => {
  const given = passSubject(invocation);
  const template = checkedTemplate(invocation.value('contextName'));
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
  const account = given ?? (await chosenSubject(context, located));
  const settings = {
    ...{ servers, account, template, ...choice, group: invocation.text('group'), isServer: false, prune: false },
    ...{ prunesLogouts: false, acceptChanges: invocation.is('acceptChanges'), isRepeated: false, makesCurrent: true },
    command: await execCommand(context),
  };
  const { server, cluster } = located;
  const result = await writeContexts(context, invocation, settings, [{ server, clusters: [cluster] }]);
  printNextStep(context, invocation, result);
  await sayAllowListEntry(context);
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
