import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { parseYamlDocuments } from '../../api/codec/parse-yaml.ts';
import { toPlain } from '../../api/codec/tree.ts';
import { IN_CLUSTER_ANNOTATION } from '../../api/domain-keys.ts';
import { kubeconfigOf } from '../../api/kubeconfig.ts';
import { codeOf, fileProblem } from '../../lib/file-problem.ts';
import { type JsonValue, memberOf } from '../../lib/json.ts';
import { pathSegment } from '../clusters.ts';
import { CliError, type Context, type Run } from '../command.ts';
import { type Connection, connectionOfLogin, environmentFor, resolveConnection } from '../connection/connection.ts';
import { readLogins, serverNames } from '../connection/logins.ts';
import { withPrivateFolder, writePrivate } from '../files/files.ts';
import { execCommand } from '../kubeconfig/exec-command.ts';
import { loginContext } from '../kubeconfig/wanted-contexts.ts';

/** Runs the user's kubectl at Clusterpass, or at the API of one of its clusters. */
export const run: Run = async (context, invocation) => {
  const connection = await resolveConnection(context, invocation);
  const { server, productName } = connection;
  if (!server.startsWith('https://')) {
    throw new CliError(`kubectl sends no token over http: log in at an https address of ${server}`);
  }
  const given = invocation.text('cluster');
  const pathOf = (cluster: string | undefined): string =>
    cluster === undefined ? '' : `/${productName}/${pathSegment(cluster, 'a cluster name')}`;
  const { args } = invocation;
  const runs =
    given === undefined ? await kubectlRuns(args, context.cwd, context.readStdin) : [{ cluster: given, args }];
  const paths = runs.map(({ cluster }) => pathOf(cluster));
  return withPrivateFolder('clusterpass-kubectl-', async (folder) => {
    const file = join(folder, 'config');
    const env = { ...(await environment(context, connection)), KUBECONFIG: file };
    let highest = 0;
    for (const [index, run] of runs.entries()) {
      await writePrivate(file, JSON.stringify(await kubeconfigAt(context, connection, paths[index] ?? '')));
      highest = Math.max(highest, await runKubectl(context, run, env));
    }
    return highest;
  });
};

/**
 * It has no secret: kubectl gets the token from `clusterpass credential`. The servers with a login are contexts, too,
 * with the names that `clusterpass kubeconfig` gives them.
 */
async function kubeconfigAt(context: Context, connection: Connection, path: string) {
  const logins = await readLogins(context);
  const command = await execCommand(context);
  const others = [...serverNames(logins)].filter(([server]) => server.startsWith('https://'));
  return kubeconfigOf([
    loginContext('clusterpass', connection, path, command),
    ...others.map(([server, name]) =>
      loginContext(`clusterpass@${name}`, connectionOfLogin(context, logins, server), '', command),
    ),
  ]);
}

/** A token of a flag or a variable is for this run of kubectl: the plugin finds it in the environment. */
async function environment(context: Context, connection: Connection): Promise<Context['env']> {
  const env = environmentFor(context, connection);
  const { isTokenGiven, token } = connection;
  if (!isTokenGiven || token === undefined) return env;
  return { ...env, CLUSTERPASS_TOKEN: await token() };
}

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** In place of this process: same terminal, signals passed on, its exit code as shells give it. */
async function runKubectl({ cwd }: Context, { args, input }: KubectlRun, env: Context['env']): Promise<number> {
  const child = spawn('kubectl', args, {
    cwd,
    env,
    stdio: [input === undefined ? 'inherit' : 'pipe', 'inherit', 'inherit'],
  });
  // It may end without reading.
  child.stdin?.on('error', () => {}).end(input);
  // A terminal sends Ctrl-C to the whole foreground group, kubectl included.
  const isOnTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const forward = (signal: NodeJS.Signals): void => {
    if (!isOnTerminal || signal === 'SIGTERM' || signal === 'SIGHUP') child.kill(signal);
  };
  for (const signal of FORWARDED) process.on(signal, forward);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? 'there is no kubectl on the PATH' : fileProblem(error);
    throw new CliError(`kubectl cannot be started: ${why}`);
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward);
  }
}

/** One start of kubectl. */
export interface KubectlRun {
  /** Undefined at the fleet. */
  readonly cluster: string | undefined;
  readonly args: readonly string[];
  /** In place of the terminal's input. */
  readonly input?: string;
}

/** The commands of kubectl whose flag -f names manifests. */
const VERBS = ['apply', 'create', 'delete', 'describe', 'diff', 'get', 'replace'];
const FLAG = /^(?:-f|--filename)(?:=(.*))?$/s;
const MAX_TOKENS = 1_000_000;

/**
 * The runs that do for files with objects of several clusters what kubectl does for one: a GET or DELETE has no body
 * that could name the cluster (ADR 29). Files without objects inside clusters, and those that kubectl has to read or
 * refuse itself, are left to one run at the fleet.
 */
export async function kubectlRuns(
  args: readonly string[],
  cwd: string,
  readInput: () => Promise<string>,
): Promise<readonly KubectlRun[]> {
  const { files, others } = filesIn(args);
  const verb = others.find((arg) => VERBS.includes(arg));
  if (files.length === 0 || verb === undefined) return [{ cluster: undefined, args }];
  const input = files.includes('-') ? await readInput() : undefined;
  const recursive = others.some((arg) => ['-R', '--recursive', '--recursive=true'].includes(arg));
  const asGiven: KubectlRun[] = [{ cluster: undefined, args, ...(input === undefined ? {} : { input }) }];
  const byCluster = new Map<string, JsonValue[]>([['', []]]);
  try {
    for (const file of files) {
      for (const object of objectsIn(
        file === '-' ? (input ?? '') : await readManifest(resolve(cwd, file), recursive),
      )) {
        const cluster = memberOf(object, 'metadata', 'annotations', IN_CLUSTER_ANNOTATION);
        const key = typeof cluster === 'string' ? cluster : '';
        byCluster.set(key, [...(byCluster.get(key) ?? []), object]);
      }
    }
  } catch {
    return asGiven;
  }
  if (byCluster.size === 1) return asGiven;
  const runs = [...byCluster].map(([cluster, items]): KubectlRun => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    return { cluster: cluster === '' ? undefined : cluster, args: [...others, '-f', '-'], input };
  });
  const filled = runs.filter((_, index) => index > 0 || byCluster.get('')?.length !== 0);
  // What is inside a cluster is deleted before the cluster.
  return verb === 'delete' ? filled.reverse() : filled;
}

function filesIn(args: readonly string[]): { files: string[]; others: string[] } {
  const files: string[] = [];
  const others: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (arg === '--') return { files, others: [...others, ...args.slice(index)] };
    const value = FLAG.exec(arg);
    if (value === null) others.push(arg);
    else files.push(...(value[1] ?? args[++index] ?? '').split(','));
  }
  return { files, others };
}

async function readManifest(path: string, recursive: boolean): Promise<string> {
  if (!(await stat(path)).isDirectory()) return readFile(path, 'utf8');
  const names = (await readdir(path, { recursive })).filter((name) => /\.(?:json|ya?ml)$/.test(name)).sort();
  return (await Promise.all(names.map((name) => readFile(join(path, name), 'utf8')))).join('\n---\n');
}

function* objectsIn(text: string): Generator<JsonValue> {
  for (const { root, duplicates } of parseYamlDocuments(text, MAX_TOKENS)) {
    if (duplicates.length > 0) throw new Error(duplicates.join());
    const object = toPlain(root);
    const items = memberOf(object, 'kind') === 'List' ? memberOf(object, 'items') : undefined;
    if (Array.isArray(items)) yield* items;
    else if (object !== null) yield object;
  }
}
