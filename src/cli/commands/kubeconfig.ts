import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDns1123Subdomain } from '../../api/names.ts';
import type { Cluster } from '../../client/types.ts';
import { shellWord } from '../../lib/shell-word.ts';
import {
  type ClusterReference,
  clusterLabel,
  clusterReferences,
  clustersNamed,
  namesAt,
} from '../cluster-references.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, type NamedServer, reportFailure } from '../connection/all-servers.ts';
import { describeError } from '../describe-error.ts';
import { withLock } from '../files/file-lock.ts';
import { readText, writePrivate } from '../files/files.ts';
import { kubeconfigFile } from '../files/folders.ts';
import { execCommand } from '../kubeconfig/exec-command.ts';
import {
  type MergeOptions,
  type MergeResult,
  mergeKubeconfig,
  type WantedContext,
} from '../kubeconfig/kubeconfig-merge.ts';
import { localAddressTo } from '../kubeconfig/local-address.ts';
import { serverContexts } from '../kubeconfig/server-contexts.ts';
import {
  CLUSTER_TEMPLATE,
  type ContextSettings,
  checkedTemplate,
  markShared,
  wantedContext,
} from '../kubeconfig/wanted-contexts.ts';
import { warnOfTokenFlag } from '../kubeconfig/warn-of-token-flag.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import { type PassSubject, passSubject, tokenProblems } from '../service-account.ts';

const LOCK_WAIT_MS = 10_000;
/** Changes within this time are written together. */
const DEBOUNCE_MS = 200;

/** The settings of all contexts. */
interface Settings extends ContextSettings {
  readonly servers: readonly NamedServer[];
  /** Undefined with `--server-context` alone. */
  readonly account: PassSubject | undefined;
  /** Whether to write contexts for Clusterpass itself. */
  readonly isServer: boolean;
  readonly labelSelector: string | undefined;
  /** Only these clusters, if there are any. */
  readonly references: readonly ClusterReference[];
  readonly prune: boolean;
  readonly acceptChanges: boolean;
  /** Changes of endpoints that were reported. With --watch, each is reported once. */
  readonly reported: Set<string>;
}

/** The selected clusters of one server. */
interface Part {
  readonly server: NamedServer;
  readonly clusters: readonly Cluster[];
}

export const run: Run = async (context, invocation) => {
  const isServer = invocation.is('serverContext');
  const account = passSubject(invocation);
  if (account === undefined && !isServer) throw new CliError('--as is required, or --as-me');
  const template = checkedTemplate(invocation.text('contextName') ?? CLUSTER_TEMPLATE);
  const labelSelector = invocation.text('selector');
  const names = invocation.list('cluster');
  if (names.length > 0 && labelSelector !== undefined) throw new CliError('selectors cannot be combined with names');
  const servers = await connectAll(context, invocation);
  for (const { connection } of servers) warnOfTokenFlag(context, invocation, connection.server);
  const settings: Settings = {
    servers,
    account,
    isServer,
    template,
    command: invocation.text('execCommand') ?? (await execCommand(context)),
    labelSelector,
    references: clusterReferences(names, servers),
    prune: invocation.is('prune'),
    acceptChanges: invocation.is('acceptChanges'),
    reported: new Set(),
  };
  if (invocation.is('watch')) return watch(context, invocation, settings);
  const { answers, failed } = await askAll(context, servers, (server) => selected(server, settings));
  if (answers.length === 0) return 1;
  const parts = answers.map(({ server, value: clusters }) => ({ server, clusters }));
  const result = await write(context, invocation, settings, parts, { isFirst: true });
  const missing = failed.length > 0 ? [] : missingNames(settings, parts);
  for (const name of missing)
    context.err.write(`error: ${terminalSafe(name)}: there is no such cluster that you may see\n`);
  printNextStep(context, invocation, result);
  const isWhole = failed.length === 0 && missing.length === 0 && result.collisions.length === 0;
  return isWhole && !waits(settings, result) ? 0 : 1;
};

async function selected(server: NamedServer, { references, labelSelector }: Settings): Promise<readonly Cluster[]> {
  if (references.length > 0) return clustersNamed(server, namesAt(server, references));
  return (await server.client.listClusters(labelSelector === undefined ? {} : { labelSelector })).items;
}

const missingNames = ({ servers, references }: Settings, parts: readonly Part[]): readonly string[] =>
  references
    .filter(
      ({ name, server: wanted }) =>
        !parts.some(
          ({ server, clusters }) =>
            (wanted === undefined || wanted === server) && clusters.some(({ metadata }) => metadata.name === name),
        ),
    )
    .map(({ name, server }) => (server === undefined ? name : clusterLabel(servers, server, name)));

/** Whether contexts were left as they were, because their cluster has another address or CA. */
const waits = ({ acceptChanges }: Settings, { moved }: MergeResult): boolean => moved.length > 0 && !acceptChanges;

async function watch(context: Context, invocation: Invocation, settings: Settings): Promise<number> {
  if (invocation.text('output') === '-') throw new CliError('--watch cannot write to stdout: set --output to a file');
  const { servers, references, labelSelector } = settings;
  const signal = context.stopped();
  /** The servers whose clusters are known. Contexts of the others are neither written nor pruned. */
  const synced = new Map<NamedServer, Map<string, Cluster>>();
  let hasWritten = false;
  let hasPrintedNextStep = false;
  let writing: Promise<unknown> | undefined;
  let isDirty = false;
  const writeOnce = async (): Promise<void> => {
    const parts = [...synced].map(([server, clusters]) => ({ server, clusters: [...clusters.values()] }));
    const isFirst = !hasPrintedNextStep;
    const result = await write(context, invocation, settings, parts, { isFirst, isRepeated: hasWritten });
    hasWritten = true;
    if (hasPrintedNextStep || result.written.length === 0) return;
    hasPrintedNextStep = true;
    printNextStep(context, invocation, result);
  };
  const schedule = (): void => {
    isDirty = true;
    writing ??= (async () => {
      while (isDirty) {
        await delay(DEBOUNCE_MS);
        isDirty = false;
        await writeOnce().catch((error: unknown) => {
          if (!(error instanceof CliError)) throw error;
          context.err.write(`${describeError(error)}\n`);
        });
      }
      writing = undefined;
    })();
  };
  const { failed } = await askAll(context, servers, async (server) => {
    const clusters = new Map<string, Cluster>();
    const names = namesAt(server, references);
    const selection = labelSelector === undefined ? {} : { labelSelector };
    const onSynced = (): void => {
      synced.set(server, clusters);
      schedule();
    };
    let isReported = false;
    const onInterruption = (error: unknown): void => {
      // The contexts of the other servers are written meanwhile. One server alone is waited for without a word.
      if (synced.has(server) || isReported || servers.length === 1 || error === undefined) return;
      isReported = true;
      reportFailure(context, server, error);
    };
    for await (const { type, cluster } of server.client.watchClusters({
      ...selection,
      signal,
      onSynced,
      onInterruption,
    })) {
      const { name } = cluster.metadata;
      if (references.length > 0 && !names.includes(name)) continue;
      if (type === 'DELETED') clusters.delete(name);
      else clusters.set(name, cluster);
      if (synced.has(server)) schedule();
    }
  });
  await writing;
  return failed.length === 0 ? 0 : 1;
}

/** Contexts that were written, and what is known of their tokens. */
interface Written extends MergeResult, Tested {}

interface Tested {
  /** Why no tokens are issued. */
  readonly warnings: readonly string[];
  readonly isFailing: NonNullable<MergeOptions['isFailing']>;
}

async function write(
  context: Context,
  invocation: Invocation,
  settings: Settings,
  parts: readonly Part[],
  { isFirst, isRepeated = false }: { readonly isFirst: boolean; readonly isRepeated?: boolean },
): Promise<Written> {
  const print = (text: string): void => context.err.write(`${text}\n`);
  const { wanted, skipped } = await contextsOf(settings, parts);
  for (const reason of skipped) print(`Warning: ${reason}`);
  const prune = settings.prune ? await Promise.all(parts.map((part) => pruneOf(settings, part))) : [];
  // Before the file is written: a context that fails is not the one to start with.
  const tested = isFirst ? await testTokens(settings, wanted) : UNTESTED;
  const { isFailing } = tested;
  const file = fileOf(context, invocation);
  let result: MergeResult | undefined;
  if (file === undefined) {
    result = mergeKubeconfig(undefined, wanted, { isFailing });
    context.out.write(result.text);
  } else {
    result = await withLock(file, { waitMs: LOCK_WAIT_MS, err: context.err }, async () => {
      const { acceptChanges } = settings;
      const merged = mergeKubeconfig(await readText(file), wanted, { prune, acceptChanges, isFailing });
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
  return { ...result, ...tested };
}

/** The contexts of all parts, and the reasons why clusters have none. */
async function contextsOf(
  settings: Settings,
  parts: readonly Part[],
): Promise<{ readonly wanted: readonly WantedContext[]; readonly skipped: readonly string[] }> {
  const { servers, account, isServer, command } = settings;
  const wanted: WantedContext[] = [];
  const skipped: string[] = [];
  for (const { server, clusters } of parts) {
    if (isServer) wanted.push(...serverContexts(server, command, validNames(clusters)));
    if (account === undefined) continue;
    // For each write: with --watch, the machine may move to another network.
    const localAddress = await localAddressTo(server.connection.server);
    for (const cluster of clusters) {
      const context = wantedContext(settings, server, account, cluster, localAddress);
      if (typeof context !== 'string') wanted.push(context);
      else skipped.push(`skipped ${terminalSafe(clusterLabel(servers, server, cluster.metadata.name))}: ${context}`);
    }
  }
  return { wanted: markShared(wanted), skipped };
}

/** Clusters that are not selected are visible, so they are not pruned. The context of the fleet has no cluster. */
async function pruneOf(
  { labelSelector, references }: Settings,
  { server, clusters }: Part,
): Promise<{ server: string; visible: ReadonlySet<string> }> {
  const isAll = labelSelector === undefined && references.length === 0;
  const visible = isAll ? clusters : (await server.client.listClusters({})).items;
  return { server: server.connection.server, visible: new Set(['', ...visible.map(({ metadata }) => metadata.name)]) };
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

const UNTESTED: Tested = { warnings: [], isFailing: () => false };

async function testTokens({ servers, account }: Settings, wanted: readonly WantedContext[]): Promise<Tested> {
  if (account === undefined) return UNTESTED;
  const tested = await Promise.all(
    servers.map(async ({ name, client, connection: { server } }) => {
      const clusters = wanted.filter(({ key }) => key.server === server && key.cluster !== '');
      const names = [...new Set(clusters.map(({ key }) => key.cluster))];
      return { server, ...(await tokenProblems(client, names, account, servers.length === 1 ? undefined : name)) };
    }),
  );
  const refused = new Map(tested.map((each) => [each.server, each.refused]));
  return {
    warnings: tested.flatMap(({ warnings }) => warnings),
    isFailing: ({ server, cluster }) => refused.get(server)?.has(cluster) === true,
  };
}

/** Warns if the account cannot get tokens, and prints a kubectl command that works, if there is one. */
function printNextStep(context: Context, invocation: Invocation, { written, warnings, isFailing }: Written): void {
  if (written.length === 0) return;
  for (const warning of warnings) context.err.write(`Warning: ${warning}\n`);
  const first = written.find((each) => !isFailing(each));
  if (first === undefined) return;
  const file = fileOf(context, invocation);
  if (file === undefined) return;
  const where = file === kubeconfigFile(context.env) ? '' : `--kubeconfig ${shellWord(file)} `;
  const what = first.cluster === '' ? 'clusters' : 'ns';
  context.err.write(`Next: kubectl ${where}--context ${shellWord(terminalSafe(first.contextName))} get ${what}\n`);
}

/** Names that can be part of a path and of the name of a context. */
const validNames = (clusters: readonly Cluster[]): string[] =>
  clusters.map(({ metadata }) => metadata.name).filter((name) => isDns1123Subdomain(name).length === 0);
