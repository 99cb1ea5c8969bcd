import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { kubeconfigOf } from '../../api/kubeconfig.ts';
import { codeOf, fileProblem } from '../../lib/file-problem.ts';
import { CliError, type Context, type Run } from '../command.ts';
import { type Connection, connectionOfLogin, environmentFor, resolveConnection } from '../connection/connection.ts';
import { readLogins, serverNames } from '../connection/logins.ts';
import { withPrivateFolder, writePrivate } from '../files/files.ts';
import { execCommand } from '../kubeconfig/exec-command.ts';
import { loginContext } from '../kubeconfig/wanted-contexts.ts';
import { type KubectlRun, kubectlRuns } from '../kubectl-runs.ts';
import { pathSegment } from '../names.ts';

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
  return { ...env, CLUSTERPASS_TOKEN: await token(), CLUSTERPASS_TOKEN_FILE: undefined };
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
