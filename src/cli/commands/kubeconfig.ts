import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endpointsFingerprint } from '../../api/confirmed-endpoint.ts';
import { kubeconfigFor } from '../../api/kubeconfig-document.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import type { Client } from '../../client/create-client.ts';
import { type Cluster, type ClusterSelection, endpointsOf } from '../../client/types.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { withLock } from '../files/file-lock.ts';
import { readText, writePrivate } from '../files/files.ts';
import { kubeconfigFile } from '../files/folders.ts';
import { endpointFor } from '../kubeconfig/cluster-endpoint.ts';
import { execCommand } from '../kubeconfig/exec-command.ts';
import { type MergeResult, mergeKubeconfig, type WantedContext } from '../kubeconfig/kubeconfig-merge.ts';
import { localAddressTo } from '../kubeconfig/local-address.ts';
import { serverContexts } from '../kubeconfig/server-contexts.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import { type PassSubject, passSubject, tokenProblem } from '../service-account.ts';

const LOCK_WAIT_MS = 10_000;
/** Changes within this time are written together. */
const DEBOUNCE_MS = 200;

/** The settings of all contexts. */
interface Settings {
  readonly server: string;
  /** Undefined with `--server-context` alone. */
  readonly account: PassSubject | undefined;
  /** Contexts for Clusterpass itself; undefined without `--server-context`. */
  readonly serverContexts: ((clusters: readonly string[]) => WantedContext[]) | undefined;
  readonly template: string;
  readonly command: string;
  readonly productName: string;
  /** The names of visible clusters, whose contexts are not pruned; undefined without `--prune`. */
  readonly visible: ((written: readonly Cluster[]) => Promise<ReadonlySet<string>>) | undefined;
  readonly acceptChanges: boolean;
  /** Changes of endpoints that were reported. With --watch, each is reported once. */
  readonly reported: Set<string>;
}

const namesOf = (clusters: readonly Cluster[]): ReadonlySet<string> =>
  new Set(clusters.map(({ metadata }) => metadata.name));

export const run: Run = async (context, invocation) => {
  const isServer = invocation.is('serverContext');
  const account = passSubject(invocation);
  if (account === undefined && !isServer) throw new CliError('--as is required, or --as-me');
  const connection = await resolveConnection(context, invocation);
  const { server, productName } = connection;
  const client = await clientFor(context, connection);
  const labelSelector = invocation.text('selector');
  const selection = labelSelector === undefined ? {} : { labelSelector };
  // Clusters that do not match the selector are still visible, so they are not pruned.
  const visible = async (written: readonly Cluster[]): Promise<ReadonlySet<string>> =>
    namesOf(labelSelector === undefined ? written : (await client.listClusters({})).items);
  const command = invocation.text('execCommand') ?? (await execCommand(context));
  const settings: Settings = {
    server,
    account,
    serverContexts: isServer ? (clusters) => serverContexts(connection, command, clusters) : undefined,
    template: checkedTemplate(invocation.text('contextName') ?? '{cluster}'),
    command,
    productName,
    visible: invocation.is('prune') ? visible : undefined,
    acceptChanges: invocation.is('acceptChanges'),
    reported: new Set(),
  };
  if (invocation.is('watch')) return watch(context, invocation, client, settings, selection);
  const { items } = await client.listClusters(selection);
  const result = await write(context, invocation, settings, items);
  await printNextStep(context, invocation, client, settings, result);
  return result.collisions.length > 0 || waits(settings, result) ? 1 : 0;
};

/** Whether contexts were left as they were, because their cluster has another address or CA. */
const waits = ({ acceptChanges }: Settings, { moved }: MergeResult): boolean => moved.length > 0 && !acceptChanges;

async function watch(
  context: Context,
  invocation: Invocation,
  client: Client,
  settings: Settings,
  selection: ClusterSelection,
): Promise<number> {
  if (invocation.text('output') === '-') throw new CliError('--watch cannot write to stdout: set --output to a file');
  const signal = context.stopped();
  const clusters = new Map<string, Cluster>();
  let synced = false;
  let hasWritten = false;
  let hasPrintedNextStep = false;
  let writing: Promise<unknown> | undefined;
  let isDirty = false;
  const writeOnce = async (): Promise<void> => {
    const result = await write(context, invocation, settings, [...clusters.values()], { isRepeated: hasWritten });
    hasWritten = true;
    if (hasPrintedNextStep || result.written.length === 0) return;
    hasPrintedNextStep = true;
    await printNextStep(context, invocation, client, settings, result);
  };
  const schedule = (): void => {
    isDirty = true;
    writing ??= (async () => {
      while (isDirty) {
        await delay(DEBOUNCE_MS);
        isDirty = false;
        await writeOnce().catch((error: unknown) => {
          if (!(error instanceof CliError)) throw error;
          context.err.write(`error: ${error.message}\n`);
        });
      }
      writing = undefined;
    })();
  };
  const onSynced = (): void => {
    synced = true;
    schedule();
  };
  for await (const { type, cluster } of client.watchClusters({ ...selection, signal, onSynced })) {
    if (type === 'DELETED') clusters.delete(cluster.metadata.name);
    else clusters.set(cluster.metadata.name, cluster);
    if (synced) schedule();
  }
  await writing;
  return 0;
}

async function write(
  context: Context,
  invocation: Invocation,
  settings: Settings,
  clusters: readonly Cluster[],
  { isRepeated = false } = {},
): Promise<MergeResult> {
  const print = (text: string): void => context.err.write(`${text}\n`);
  const wanted: WantedContext[] = [];
  // For each write: with --watch, the machine may move to another network.
  const localAddress = await localAddressTo(settings.server);
  wanted.push(...(settings.serverContexts?.(validNames(clusters)) ?? []));
  const { account } = settings;
  const found = account && clusters.map((cluster) => wantedContext(settings, account, cluster, localAddress));
  for (const each of found ?? []) {
    if (typeof each === 'string') print(`Warning: ${each}`);
    else wanted.push(each);
  }
  const prune =
    settings.visible === undefined
      ? undefined
      : // The context of the fleet is of no cluster.
        { server: settings.server, visible: new Set([...(await settings.visible(clusters)), '']) };
  const file = fileOf(context, invocation);
  let result: MergeResult | undefined;
  if (file === undefined) {
    result = mergeKubeconfig(undefined, wanted);
    context.out.write(result.text);
  } else {
    result = await withLock(file, { waitMs: LOCK_WAIT_MS, err: context.err }, async () => {
      const merged = mergeKubeconfig(await readText(file), wanted, { prune, acceptChanges: settings.acceptChanges });
      if (merged.changed) await writePrivate(file, merged.text);
      return merged;
    });
    if (result === undefined) throw new CliError(`${file} could not be locked`);
    // With --watch, only the first write and changes are reported.
    if (result.changed || !isRepeated) print(`${file}: ${summaryOf(result)}`);
  }
  for (const { from, to } of result.renamed) print(`renamed: ${terminalSafe(from)} is now ${terminalSafe(to)}`);
  const choose = 'choose one with kubectl config use-context NAME';
  if (result.selected !== undefined) print(`kubectl uses ${terminalSafe(result.selected)} by default: ${choose}`);
  if (result.lost !== undefined) {
    print(`Warning: the current context ${terminalSafe(result.lost)} was removed, and kubectl fails: ${choose}`);
  }
  reportMoved(settings, result, print);
  for (const collision of result.collisions) print(`error: ${terminalSafe(collision)}`);
  return result;
}

function reportMoved(settings: Settings, result: MergeResult, print: (text: string) => void): void {
  const lines = result.moved.flatMap(({ contextName, changes }) =>
    changes.map((change) => terminalSafe(`${contextName}: ${change}`)),
  );
  const fresh = lines.filter((line) => !settings.reported.has(line));
  for (const line of fresh) {
    settings.reported.add(line);
    print(`changed: ${line}`);
  }
  if (fresh.length > 0 && waits(settings, result)) {
    const which = result.moved.length === 1 ? 'This context was' : `These ${result.moved.length} contexts were`;
    print(
      `error: ${which} left unchanged, because kubectl would send tokens to the new address. If the change is right, ` +
        'run the command again with --accept-changes',
    );
  }
}

/** The file to write; undefined for stdout. */
function fileOf(context: Context, invocation: Invocation): string | undefined {
  const output = invocation.text('output');
  if (output === '-') return undefined;
  return output === undefined ? kubeconfigFile(context.env) : resolve(context.cwd, output);
}

function summaryOf({ changed, written, added, renamed, removed, moved }: MergeResult): string {
  const contexts = `${written.length} ${written.length === 1 ? 'context' : 'contexts'}`;
  if (!changed) return written.length === 0 && moved.length === 0 ? 'no contexts to write' : `up to date, ${contexts}`;
  const parts = Object.entries({ new: added, renamed, removed }).filter(([, list]) => list.length > 0);
  return [contexts, ...(parts.length === 0 ? ['changed'] : parts.map(([word, list]) => `${list.length} ${word}`))].join(
    ', ',
  );
}

/** Warns if the account cannot get a token, and prints a kubectl command to try. */
async function printNextStep(
  context: Context,
  invocation: Invocation,
  client: Client,
  { account }: Settings,
  { written: [first] }: MergeResult,
): Promise<void> {
  if (first === undefined) return;
  const problem =
    account === undefined || first.cluster === '' ? undefined : await tokenProblem(client, first.cluster, account);
  if (problem !== undefined) context.err.write(`Warning: ${problem}\n`);
  const file = fileOf(context, invocation);
  if (file === undefined) return;
  const where = file === kubeconfigFile(context.env) ? '' : `--kubeconfig ${shellWord(file)} `;
  const what = first.cluster === '' ? 'clusters' : 'ns';
  context.err.write(`Next: kubectl ${where}--context ${shellWord(terminalSafe(first.contextName))} get ${what}\n`);
}

/** Quotes a word for the shell. */
const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Names that can be part of a path and of the name of a context. */
const validNames = (clusters: readonly Cluster[]): string[] =>
  clusters.map(({ metadata }) => metadata.name).filter((name) => isDns1123Subdomain(name).length === 0);

/** The context of a cluster, or the reason why it has none. */
function wantedContext(
  settings: Settings,
  subject: PassSubject,
  cluster: Cluster,
  localAddress: string | undefined,
): WantedContext | string {
  const { server: baseUrl, template, productName } = settings;
  const { name } = cluster.metadata;
  const endpoint = endpointFor(cluster, localAddress);
  if (typeof endpoint === 'string') return `skipped ${terminalSafe(name)}: ${endpoint}`;
  const entry = kubeconfigFor({ cluster: name, ...endpoint, baseUrl, account: subject, productName });
  const [first, user] = [entry.clusters[0], entry.users[0]];
  if (first === undefined || user === undefined) return `skipped ${name}`;
  const account = subject === 'me' ? { namespace: 'default', name: subject } : subject;
  const who = subject === 'me' ? subject : `${account.namespace}:${account.name}`;
  const contextName = fill(template, {
    cluster: name,
    namespace: account.namespace,
    account: account.name,
    server: new URL(baseUrl).host,
  });
  const { exec } = user.user;
  return {
    key: { server: baseUrl, cluster: name, account: who.replace(':', '/') },
    contextName,
    userName: `${who}@${contextName}`,
    cluster: first.cluster,
    endpoints: endpointsFingerprint(endpointsOf(cluster)),
    exec: { ...exec, command: settings.command },
    namespace: account.namespace,
  };
}

const PLACEHOLDERS = ['cluster', 'namespace', 'account', 'server'];

function checkedTemplate(template: string): string {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  const unknown = names.find((name) => !PLACEHOLDERS.includes(name));
  if (unknown !== undefined) {
    throw new CliError(
      `--context-name: {${unknown}} is unknown; supported are ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`,
    );
  }
  if (!names.includes('cluster'))
    throw new CliError('--context-name must contain {cluster}, or all contexts would have the same name');
  return template;
}

const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
