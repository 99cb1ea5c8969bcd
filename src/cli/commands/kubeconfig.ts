import { readyStatus } from '../../api/clusters/conditions.ts';
import { endpointsFingerprint } from '../../api/clusters/confirmed-endpoint.ts';
import { endpointsInForce } from '../../client/types.ts';
import { pause } from '../../lib/backoff.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { terminalSafe } from '../../lib/text.ts';
import { Wakeup } from '../../sync/wakeup.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, isForAllLogins, type NamedServer } from '../connection/all-servers.ts';
import { readLogins } from '../connection/logins.ts';
import { describeError } from '../describe-error.ts';
import { execCommand, warnOfTokenFlag } from '../kubeconfig/exec-command.ts';
import { areEndpointsConfirmed, checkedTemplate } from '../kubeconfig/wanted-contexts.ts';
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

/** Changes within this time are written together. */
const SETTLE_MS = 200;
const MAX_WAIT_MS = 2 ** 31 - 1;

/** Writes the contexts, and again whenever clusters come, go or move, until the program is stopped. */
export async function watchContexts(
  context: Context,
  { servers, labelSelector }: { readonly servers: readonly NamedServer[]; readonly labelSelector?: string | undefined },
  write: (context: Context, isRepeated: boolean) => Promise<unknown>,
): Promise<number> {
  const wakeup = new Wakeup();
  const ended = new AbortController();
  const following = askAll(context, servers, async ({ client }) => {
    const signal = context.stopped();
    const known = new Map<string, string>();
    for await (const { type, cluster } of client.watchClusters({ labelSelector, signal, onSynced: wakeup.set })) {
      const { name } = cluster.metadata;
      const isConfirmed = areEndpointsConfirmed(cluster);
      const endpoints =
        type === 'DELETED' ? undefined : `${endpointsFingerprint(endpointsInForce(cluster))} ${isConfirmed}`;
      // Most changes are of a status.
      if (known.get(name) !== endpoints) wakeup.set();
      if (endpoints === undefined) known.delete(name);
      else known.set(name, endpoints);
    }
  }).finally(() => ended.abort());
  following.catch(() => undefined);
  let last = '';
  for (let isRepeated = false; !ended.signal.aborted; isRepeated = true) {
    wakeup.reset();
    const text = await writtenText(context, (silent) => write(silent, isRepeated));
    if (text !== last) context.err.write(text);
    last = text;
    await wakeup.wait(MAX_WAIT_MS, ended.signal);
    await pause(SETTLE_MS);
  }
  return (await following).failed.length === 0 ? 0 : 1;
}

/** What a run has to say: the same problem is not repeated after each change. A server may be down for a while. */
async function writtenText(context: Context, run: (context: Context) => Promise<unknown>): Promise<string> {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  try {
    await run({ ...context, err: { ...context.err, write } });
  } catch (error) {
    const problem = describeError(error);
    if (problem === undefined) throw error;
    write(`${problem}\n`);
  }
  return text;
}
