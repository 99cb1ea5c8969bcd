import { readyStatus } from '../../api/clusters/conditions.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connectAll } from '../connection/all-servers.ts';
import { execCommand } from '../kubeconfig/exec-command.ts';
import { checkedTemplate } from '../kubeconfig/wanted-contexts.ts';
import { isWritten, type WriteSettings, writeContexts } from '../kubeconfig/write-contexts.ts';
import { choose } from '../picker.ts';
import {
  clusterChoice,
  clusterLabel,
  clusterReferences,
  findClusters,
  type LocatedCluster,
} from '../select-clusters.ts';
import { type PassSubject, parseServiceAccount, passSubject, usableSubjects } from '../service-account.ts';

export const writeKubeconfig: Run = async (context, invocation) => {
  const given = await givenSettings(context, invocation);
  const prune = invocation.is('prune');
  const isServer = invocation.is('serverContext') || (given.account === undefined && !prune);
  const servers = await connectAll(context, invocation);
  const choice = clusterChoice(invocation, servers);
  const { found, failed, isWhole } = await findClusters(context, servers, choice);
  if (failed.length === servers.length) return 1;
  const settings: WriteSettings = { ...given, ...choice, isServer, prune };
  const answered = servers.filter((server) => !failed.includes(server));
  const parts = answered.map((server) => ({
    server,
    clusters: found.filter((each) => each.server === server).map(({ cluster }) => cluster),
  }));
  const result = await writeContexts(context, invocation, settings, parts);
  return isWhole && isWritten(result) ? 0 : 1;
};

const givenSettings = async (context: Context, invocation: Invocation) => ({
  account: passSubject(invocation),
  group: invocation.text('group'),
  template: checkedTemplate(invocation.text('contextName')),
  command: invocation.text('execCommand') ?? (await execCommand(context)),
  acceptChanges: invocation.is('acceptChanges'),
});

/** Writes the context of one cluster, as `clusterpass kubeconfig` does, and makes it the current one. */
export const useCluster: Run = async (context, invocation) => {
  const given = await givenSettings(context, invocation);
  const servers = await connectAll(context, invocation);
  const choice = { references: clusterReferences(invocation.args, servers) };
  const { found, isWhole } = await findClusters(context, servers, choice);
  if (found.length === 0 && !isWhole) return 1;
  const choices = found.map((value) => {
    const ready = readyStatus(value.cluster.status ?? {});
    const label = clusterLabel(value.server, value.cluster.metadata.name);
    return { order: ORDER[ready], label: ready === 'False' ? `${label} (not ready)` : label, value };
  });
  const readyFirst = sortedBy(choices, ({ order, label }) => `${order} ${label}`);
  const located = await choose(context, 'name the cluster', readyFirst);
  const account = given.account ?? (await chosenSubject(context, located));
  const settings = { ...given, ...choice, account, makesCurrent: true };
  const { server, cluster } = located;
  const result = await writeContexts(context, invocation, settings, [{ server, clusters: [cluster] }]);
  return isWritten(result) && result.written.length > 0 ? 0 : 1;
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
