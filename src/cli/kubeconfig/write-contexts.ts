import { resolve } from 'node:path';
import { readyStatus } from '../../api/clusters/conditions.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import type { Cluster } from '../../client/types.ts';
import { quantity, shellWord, terminalSafe } from '../../lib/text.ts';
import type { Context, Invocation } from '../command.ts';
import type { NamedServer } from '../connection/all-servers.ts';
import { withLock } from '../files/file-lock.ts';
import { kubeconfigFile, kubeconfigFiles, readText, writePrivate } from '../files/files.ts';
import { type ClusterChoice, clusterLabel } from '../select-clusters.ts';
import { type PassSubject, tokenProblems } from '../service-account.ts';
import { localAddressTo } from './cluster-endpoint.ts';
import { sayAllowListEntry } from './exec-command.ts';
import type { WantedContext } from './kubeconfig-file.ts';
import { type MergeOptions, type MergeResult, mergeKubeconfig, type WrittenContext } from './kubeconfig-merge.ts';
import { type ContextSettings, serverContexts, wantedContext } from './wanted-contexts.ts';

export interface WriteSettings extends ContextSettings, ClusterChoice {
  /** Undefined with `--server-context` alone. */
  readonly account: PassSubject | undefined;
  /** Whether to write contexts for Clusterpass itself. */
  readonly isServer?: boolean;
  readonly prune?: boolean;
  readonly acceptChanges: boolean;
}

/** The clusters of a server that are written. */
interface ServerClusters {
  readonly server: NamedServer;
  readonly clusters: readonly Cluster[];
}

/** Writes the contexts of the clusters to the file or to stdout, and prints what was changed and what to do next. */
export async function writeContexts(
  context: Context,
  invocation: Invocation,
  settings: WriteSettings,
  parts: readonly ServerClusters[],
): Promise<MergeResult> {
  const print = (text: string): void => context.err.write(`${text}\n`);
  const { wanted, skipped } = await contextsOf(settings, parts);
  for (const reason of skipped) print(`Warning: ${reason}`);
  const visible = settings.prune
    ? new Map(await Promise.all(parts.map((part) => visibleAt(settings, part))))
    : undefined;
  // Before the file is written: a context that fails is not the one to start with.
  const { warnings, choose } = await testTokens(settings, wanted, parts);
  const file = fileOf(context, invocation);
  const { acceptChanges, makesCurrent } = settings;
  const options = { visible, acceptChanges, makesCurrent, choose, keepsNames: settings.template === undefined };
  const result =
    file === undefined
      ? mergeKubeconfig(undefined, wanted, { choose })
      : await mergeIntoFile(context, file, wanted, options);
  if (file === undefined) context.out.write(result.text);
  else print(`${file}: ${summaryOf(result)}`);
  for (const line of reportOf(result, makesCurrent)) print(line);
  await sayAllowListEntry(context);
  if (result.written.length > 0) for (const warning of warnings) print(`Warning: ${warning}`);
  const first = choose(result.written);
  if (first !== undefined && file !== undefined) print(`Next: ${nextCommand(context, file, first)}`);
  return result;
}

/** The contexts of all parts, and the reasons why clusters have none. */
async function contextsOf(
  settings: WriteSettings,
  parts: readonly ServerClusters[],
): Promise<{ readonly wanted: readonly WantedContext[]; readonly skipped: readonly string[] }> {
  const { account, isServer, command } = settings;
  const wanted: WantedContext[] = [];
  const skipped: string[] = [];
  for (const { server, clusters } of parts) {
    if (isServer) wanted.push(...serverContexts(server, command, validNames(clusters)));
    if (account === undefined) continue;
    const localAddress = await localAddressTo(server.connection.server);
    for (const cluster of clusters) {
      const context = wantedContext(settings, server, account, cluster, localAddress);
      if (typeof context !== 'string') wanted.push(context);
      else skipped.push(`skipped ${terminalSafe(clusterLabel(server, cluster.metadata.name))}: ${context}`);
    }
  }
  return { wanted, skipped };
}

/** Clusters that are not selected are visible, so they are not pruned. The context of the fleet has no cluster. */
async function visibleAt(
  { labelSelector, references }: WriteSettings,
  { server, clusters }: ServerClusters,
): Promise<[server: string, names: ReadonlySet<string>]> {
  const isAll = labelSelector === undefined && references.length === 0;
  const visible = isAll ? clusters : (await server.client.listClusters({})).items;
  return [server.connection.server, new Set(['', ...visible.map(({ metadata }) => metadata.name)])];
}

async function mergeIntoFile(
  { env, err }: Context,
  file: string,
  wanted: readonly WantedContext[],
  options: MergeOptions,
): Promise<MergeResult> {
  const all = kubeconfigFiles(env);
  const paths = file === all[0] ? all.slice(1) : [];
  return withLock(file, { err }, async () => {
    const others = await Promise.all(paths.map(async (path) => ({ path, text: await readText(path) })));
    const merged = mergeKubeconfig(await readText(file), wanted, { ...options, path: file, others });
    if (merged.changed) await writePrivate(file, merged.text);
    return merged;
  });
}

/** What has become of the contexts, in lines for standard error. */
function* reportOf(result: MergeResult, makesCurrent = false): Generator<string> {
  const { removed, renamed, selected, lost, moved, unaccepted, collisions } = result;
  for (const name of removed) yield `removed: ${terminalSafe(name)}: you no longer see its cluster`;
  for (const { from, to } of renamed) yield `renamed: ${terminalSafe(from)} is now ${terminalSafe(to)}`;
  const choose = 'choose one with kubectl config use-context NAME';
  if (selected !== undefined) {
    yield `kubectl uses ${terminalSafe(selected)} ${makesCurrent ? 'now' : `by default: ${choose}`}`;
  }
  if (lost !== undefined) {
    yield `Warning: the current context ${terminalSafe(lost)} was removed or renamed, and kubectl fails: ${choose}`;
  }
  for (const { contextName, changes, isConfirmed } of moved) {
    const note = isConfirmed ? ', as confirmed at the server' : '';
    for (const change of changes) yield `changed: ${terminalSafe(`${contextName}: ${change}`)}${note}`;
  }
  if (unaccepted.length > 0) {
    const which = unaccepted.length === 1 ? 'This context was' : `${unaccepted.length} contexts were`;
    yield `error: ${which} left unchanged, because kubectl would send tokens to the new address. If the change is right, ` +
      'run the command again with --accept-changes; clusterpass confirm CLUSTER accepts it for all users';
  }
  for (const collision of collisions) yield `error: ${terminalSafe(collision)}`;
}

/** Whether every context is in the file as it is wanted. */
export const isWritten = ({ collisions, unaccepted }: MergeResult): boolean =>
  collisions.length + unaccepted.length === 0;

/** The file to write; undefined for stdout. */
function fileOf(context: Context, invocation: Invocation): string | undefined {
  const output = invocation.text('output');
  if (output === '-') return undefined;
  return output === undefined ? kubeconfigFile(context.env) : resolve(context.cwd, output);
}

function summaryOf({ changed, written, added, renamed, removed, unaccepted: unchanged }: MergeResult): string {
  const count = written.length + unchanged.length;
  const fleets = written.filter(({ cluster }) => cluster === '').length;
  const contexts = `${quantity(count, 'context')}${fleets === 0 ? '' : `, ${fleets} of them for the fleet`}`;
  if (!changed && unchanged.length === 0) return count === 0 ? 'no contexts to write' : `up to date, ${contexts}`;
  const parts = Object.entries({ new: added, renamed, removed, 'left unchanged': unchanged });
  return [
    contexts,
    ...parts.filter(([, { length }]) => length > 0).map(([word, { length }]) => `${length} ${word}`),
  ].join(', ');
}

async function testTokens(
  { account, group }: WriteSettings,
  wanted: readonly WantedContext[],
  parts: readonly ServerClusters[],
) {
  const tested = await Promise.all(
    parts.map(async (part) => {
      const { server } = part.server.connection;
      const clusters = wanted.filter(({ key }) => key.server === server && key.cluster !== '');
      const names = [...new Set(clusters.map(({ key }) => key.cluster))];
      return { server, ...(await tokenProblems(part.server, names, account, group)) };
    }),
  );
  const refused = new Map(tested.map((each) => [each.server, each.refused]));
  const ready = new Map(parts.map((part) => [part.server.connection.server, readyNames(part)]));
  return {
    /** Why no tokens are issued. */
    warnings: tested.flatMap(({ warnings }) => warnings),
    choose: (written: readonly WrittenContext[]) => {
      const working = written.filter(({ server, cluster }) => refused.get(server)?.has(cluster) !== true);
      return working.find(({ server, cluster }) => ready.get(server)?.has(cluster) === true) ?? working[0];
    },
  };
}

/** With the name of the fleet, which has answered. */
const readyNames = ({ clusters }: ServerClusters): ReadonlySet<string> =>
  new Set([
    '',
    ...clusters.filter(({ status = {} }) => readyStatus(status) === 'True').map(({ metadata }) => metadata.name),
  ]);

/** A kubectl command that works. */
function nextCommand({ env }: Context, file: string, { cluster, contextName }: WrittenContext): string {
  const where = file === kubeconfigFile(env) ? '' : `--kubeconfig ${shellWord(file)} `;
  // Nothing is known of what the account may do in a cluster. Every caller may ask who it is.
  const what = cluster === '' ? 'get clusters' : 'auth whoami';
  return `kubectl ${where}--context ${shellWord(terminalSafe(contextName))} ${what}`;
}

/** Names that can be part of a path and of the name of a context. */
const validNames = (clusters: readonly Cluster[]): string[] =>
  clusters.map(({ metadata }) => metadata.name).filter((name) => isDns1123Subdomain(name).length === 0);
