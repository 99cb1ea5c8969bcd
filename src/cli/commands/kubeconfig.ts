import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chooseEndpoint } from '../../api/choose-endpoint.ts';
import { kubeconfigFor } from '../../api/kubeconfig-document.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import type { Client } from '../../client/create-client.ts';
import { type Cluster, type ClusterSelection, endpointsOf } from '../../client/types.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { withLock } from '../files/file-lock.ts';
import { readText, writePrivate } from '../files/files.ts';
import { kubeconfigFile } from '../files/folders.ts';
import { execCommand } from '../kubeconfig/exec-command.ts';
import { type MergeResult, mergeKubeconfig, type WantedContext } from '../kubeconfig/kubeconfig-merge.ts';
import { localAddressTo } from '../kubeconfig/local-address.ts';
import { printable } from '../output/terminal-safe.ts';
import { type Account, parseAccount } from '../service-account.ts';
import { accountProblem } from '../try-account.ts';

const LOCK_WAIT_MS = 10_000;
/** Changes that come together are written together. */
const QUIET_MS = 200;

/** Everything that is the same for every cluster. */
interface Plan {
  readonly server: string;
  readonly account: Account;
  readonly template: string;
  readonly command: string;
  readonly productName: string;
  /** Names of the clusters that keep their contexts; undefined when nothing is pruned. */
  readonly keep: ((written: readonly Cluster[]) => Promise<ReadonlySet<string>>) | undefined;
}

const namesOf = (clusters: readonly Cluster[]): ReadonlySet<string> =>
  new Set(clusters.map(({ metadata }) => metadata.name));

/** One context for every cluster that the caller sees. */
export const run: Run = async (context, invocation) => {
  const account = parseAccount(invocation.required('as', '--as'), '--as');
  const connection = await resolveConnection(context, invocation);
  const { server, productName } = connection;
  const client = await clientFor(context, connection);
  const labelSelector = invocation.text('selector');
  const selection = labelSelector === undefined ? {} : { labelSelector };
  // What a selector leaves out is still there: only what the caller no longer sees is pruned.
  const keep = async (written: readonly Cluster[]): Promise<ReadonlySet<string>> =>
    namesOf(labelSelector === undefined ? written : (await client.listClusters({})).items);
  const plan: Plan = {
    server,
    account,
    template: checkedTemplate(invocation.text('contextName') ?? '{cluster}'),
    command: invocation.text('execCommand') ?? (await execCommand(context)),
    productName,
    keep: invocation.is('prune') ? keep : undefined,
  };
  if (invocation.is('watch')) return watch(context, invocation, client, plan, selection);
  const { items } = await client.listClusters(selection);
  const result = await write(context, invocation, plan, items);
  await guide(context, invocation, client, plan, result);
  return result.collisions.length > 0 ? 1 : 0;
};

async function watch(
  context: Context,
  invocation: Invocation,
  client: Client,
  plan: Plan,
  selection: ClusterSelection,
): Promise<number> {
  if (invocation.text('output') === '-') throw new CliError('--watch needs a file to keep up to date');
  const signal = context.stopped();
  const clusters = new Map<string, Cluster>();
  let synced = false;
  let told = false;
  let guided = false;
  let writing: Promise<unknown> | undefined;
  let again = false;
  const writeOnce = async (): Promise<void> => {
    const result = await write(context, invocation, plan, [...clusters.values()], { isRepeated: told });
    told = true;
    if (guided || result.written.length === 0) return;
    guided = true;
    await guide(context, invocation, client, plan, result);
  };
  const schedule = (): void => {
    again = true;
    writing ??= (async () => {
      while (again) {
        await delay(QUIET_MS);
        again = false;
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
  plan: Plan,
  clusters: readonly Cluster[],
  { isRepeated = false } = {},
): Promise<MergeResult> {
  const say = (text: string): void => context.err.write(`${text}\n`);
  const wanted: WantedContext[] = [];
  // Each time: who watches may come home, or leave.
  const from = await localAddressTo(plan.server);
  for (const cluster of clusters) {
    const found = wantedContext(plan, cluster, from);
    if (typeof found === 'string') say(`Warning: ${found}`);
    else wanted.push(found);
  }
  const prune = plan.keep === undefined ? undefined : { server: plan.server, visible: await plan.keep(clusters) };
  const file = fileOf(context, invocation);
  let result: MergeResult | undefined;
  if (file === undefined) {
    result = mergeKubeconfig(undefined, wanted);
    context.out.write(result.text);
  } else {
    result = await withLock(file, { waitMs: LOCK_WAIT_MS, err: context.err }, async () => {
      const merged = mergeKubeconfig(await readText(file), wanted, prune);
      if (merged.changed) await writePrivate(file, merged.text);
      return merged;
    });
    if (result === undefined) throw new CliError(`${file} could not be locked`);
    // Who watches is told of changes only.
    if (result.changed || !isRepeated) say(`${file}: ${summaryOf(result)}`);
  }
  for (const { from, to } of result.renamed) say(`renamed: ${printable(from)} is now ${printable(to)}`);
  for (const collision of result.collisions) say(`error: ${printable(collision)}`);
  return result;
}

/** undefined: stdout. */
function fileOf(context: Context, invocation: Invocation): string | undefined {
  const output = invocation.text('output');
  if (output === '-') return undefined;
  return output === undefined ? kubeconfigFile(context.env) : resolve(context.cwd, output);
}

function summaryOf({ changed, written, added, renamed, removed }: MergeResult): string {
  const contexts = `${written.length} ${written.length === 1 ? 'context' : 'contexts'}`;
  if (!changed) return written.length === 0 ? 'no contexts to write' : `up to date, ${contexts}`;
  const parts = Object.entries({ new: added, renamed, removed }).filter(([, list]) => list.length > 0);
  return [contexts, ...(parts.length === 0 ? ['changed'] : parts.map(([word, list]) => `${list.length} ${word}`))].join(
    ', ',
  );
}

/** Whether what was written will work, and how it is used. */
async function guide(
  context: Context,
  invocation: Invocation,
  client: Client,
  { account }: Plan,
  { written: [first] }: MergeResult,
): Promise<void> {
  if (first === undefined) return;
  const problem = await accountProblem(client, first.cluster, account);
  if (problem !== undefined) context.err.write(`Warning: ${problem}\n`);
  const file = fileOf(context, invocation);
  if (file === undefined) return;
  const where = file === kubeconfigFile(context.env) ? '' : `--kubeconfig ${shellWord(file)} `;
  context.err.write(`Next: kubectl ${where}--context ${shellWord(printable(first.contextName))} get ns\n`);
}

/** As a shell takes it. */
const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** What belongs into the file, or why nothing can be written. */
function wantedContext(plan: Plan, cluster: Cluster, from: string | undefined): WantedContext | string {
  const { server: desk, account, template, productName } = plan;
  const { name } = cluster.metadata;
  // It becomes an argument of a program.
  if (isDns1123Subdomain(name).length > 0)
    return `${JSON.stringify(name)} is left out: it is not the name of a cluster`;
  const { serverEndpoints = [], caBundle } = endpointsOf(cluster);
  const server = chooseEndpoint(serverEndpoints, from === undefined ? [] : [from])?.serverAddress;
  if (server === undefined || !server.startsWith('https://')) return `${name} is left out: it has no address`;
  const entry = kubeconfigFor({ cluster: name, server, caBundle, baseUrl: desk, account, productName });
  const [first, user] = [entry.clusters[0], entry.users[0]];
  if (first === undefined || user === undefined) return `${name} is left out`;
  const contextName = fill(template, {
    cluster: name,
    namespace: account.namespace,
    account: account.name,
    server: new URL(desk).host,
  });
  const { exec } = user.user;
  return {
    key: { server: desk, cluster: name, account: `${account.namespace}/${account.name}` },
    contextName,
    userName: `${account.namespace}:${account.name}@${contextName}`,
    cluster: first.cluster,
    exec: { ...exec, command: plan.command },
    namespace: account.namespace,
  };
}

const PLACEHOLDERS = ['cluster', 'namespace', 'account', 'server'];

function checkedTemplate(template: string): string {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  const unknown = names.find((name) => !PLACEHOLDERS.includes(name));
  if (unknown !== undefined) {
    throw new CliError(
      `--context-name: {${unknown}} is not known; there are ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`,
    );
  }
  if (!names.includes('cluster'))
    throw new CliError('--context-name needs {cluster}, or all contexts would have one name');
  return template;
}

const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
