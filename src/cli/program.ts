import { StatusError } from '../client/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { terminalSafe } from '../lib/text.ts';
import { type Command, type Context, type Flag, Invocation, type Run, UsageError } from './command.ts';
import { parseArguments, VERSION_FLAG } from './command-line.ts';
import { ALL_COMMANDS, commandAt, findCommand, GROUPS } from './command-table/commands.ts';
import { CONNECTION_FLAGS, flagsOf, ownFlags } from './command-table/flags.ts';
import { LOCAL_COMMANDS } from './command-table/local-commands.ts';
import { failureText } from './describe-error.ts';
import { withProgress } from './progress.ts';

/** Runs a command that is no client: `serve`, `store`, `admin-token`. Their code is in server/, which cli/ is not. */
type RunLocal = (command: Command, flags: Readonly<Record<string, unknown>>, own: Context) => Promise<number>;

/** Runs a command line and returns its exit code. */
export async function runProgram(args: readonly string[], context: Context, runLocal: RunLocal): Promise<number> {
  const { words, rest } = findCommand(args);
  const command = commandAt(words);
  if (command === undefined) return withoutCommand(context, words, rest);
  const isLocal = LOCAL_COMMANDS.includes(command);
  const flags = isLocal
    ? [...flagsOf(command), ...(await import('./option-flags.ts')).optionFlags(command)]
    : flagsOf(command);
  const parsed = parsedOrRefused(context, command, rest, flags);
  if (typeof parsed === 'number') return parsed;
  if (parsed.options.help === true) return help(context, words);
  if (isLocal) return withProgress(context, (own) => runLocal(command, parsed.options, own));
  const invocation = new Invocation(parsed.args, parsed.options);
  const cluster = command.isPlugin === true ? undefined : clusterOf(command, invocation);
  return runCommand(() => loadCommand(command), context, invocation, command.usageExitCode, cluster);
}

const clusterOf = ({ arguments: [argument] = [] }: Command, invocation: Invocation): string | undefined =>
  invocation.text('cluster') ?? (argument?.isCluster === true ? invocation.args[0] : undefined);

function parsedOrRefused(context: Context, command: Command, rest: readonly string[], flags: readonly Flag[]) {
  try {
    return parseArguments(rest, command, flags);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return refuse(context, command.path, error.message, command.usageExitCode);
  }
}

function refuse({ err }: Context, path: readonly string[], problem: string, exitCode = 1): number {
  err.write(`error: ${problem}\nSee '${['clusterpass', ...path, '--help'].join(' ')}' for usage.\n`);
  return exitCode;
}

/** The program itself, a group, or a command that does not exist. */
async function withoutCommand(context: Context, words: readonly string[], rest: readonly string[]): Promise<number> {
  const path = words.filter((word, at) => at === 0 && Object.hasOwn(GROUPS, word));
  if (words.length > path.length) return refuse(context, path, unknownCommand(words, path));
  const anything = { path, summary: '', examples: [], arguments: [{ name: '[WORD...]', doc: '' }] };
  const parsed = parsedOrRefused(context, anything, rest, [...CONNECTION_FLAGS, VERSION_FLAG]);
  if (typeof parsed === 'number') return parsed;
  if (parsed.options.version === true) context.out.write(`${context.version}\n`);
  else if (parsed.options.help === true) return help(context, words);
  else {
    context.err.write(await helpOf(words));
    return 1;
  }
  return 0;
}

function unknownCommand(words: readonly string[], path: readonly string[]): string {
  const name = words.at(-1) ?? '';
  const all = ALL_COMMANDS.map((command) => command.path);
  const known = all.filter(([first]) => path.length === 0 || first === path[0]).map((each) => each[path.length] ?? '');
  const guess = nearest(name, known) ?? (path.length > 0 ? known.filter(Boolean).join(' or ') : undefined);
  return `unknown command '${terminalSafe(name)}'${guess === undefined ? '' : `\n(Did you mean ${guess}?)`}`;
}

async function help({ out }: Context, words: readonly string[]): Promise<number> {
  out.write(await helpOf(words));
  return 0;
}

async function helpOf(words: readonly string[]): Promise<string> {
  const { commandHelp, groupHelp, programHelp } = await import('./help.ts');
  const command = commandAt(words);
  if (command === undefined) return words[0] === undefined ? programHelp() : groupHelp(words[0]);
  const { optionFlags } = await import('./option-flags.ts');
  return commandHelp(command, [...ownFlags(command), ...optionFlags(command)]);
}

/** Runs one command, for one cluster perhaps, and returns its exit code. */
export async function runCommand(
  load: () => Promise<Run>,
  context: Context,
  invocation: Invocation,
  usageExitCode = 1,
  cluster?: string,
): Promise<number> {
  return withProgress(context, async (own) => {
    try {
      const run = await load();
      return (await run(own, invocation)) || 0;
    } catch (error) {
      own.err.write(`${failureText(error)}\n`);
      if (cluster !== undefined && error instanceof StatusError) {
        const { clusterHint } = await import('./select-clusters.ts');
        const hint = await clusterHint(own, invocation, cluster, error);
        if (hint !== undefined) own.err.write(`${hint}\n`);
      }
      return error instanceof UsageError ? usageExitCode : 1;
    }
  });
}

type Load = () => Promise<Run>;

const approvals = () => import('./commands/approvals.ts');

/**
 * The code of each command, by its path. Imported when the command runs: every kubectl starts `credential` and must not
 * wait for the modules of the other commands.
 */
const LOADERS: Readonly<Record<string, Load>> = {
  'auth can-i': async () => (await import('./commands/auth.ts')).canI,
  'auth reach': async () => (await import('./commands/auth.ts')).reach,
  'auth who-can': async () => (await import('./commands/auth.ts')).whoCan,
  'auth why': async () => (await import('./commands/auth.ts')).why,
  completion: async () => (await import('./commands/completion.ts')).run,
  confirm: async () => (await import('./commands/register.ts')).confirm,
  connector: async () => (await import('./commands/connector.ts')).run,
  'create bootstrap-token': async () => (await import('./commands/bootstrap-token.ts')).run,
  'create token': async () => (await import('./commands/create-token.ts')).run,
  credential: async () => (await import('./commands/credential.ts')).run,
  'describe cluster': async () => (await import('./commands/describe-cluster.ts')).run,
  exec: async () => (await import('./commands/exec.ts')).run,
  'get accounts': async () => (await import('./commands/get.ts')).getAccounts,
  'get clusters': async () => (await import('./commands/get.ts')).getClusters,
  grant: async () => (await import('./commands/grant.ts')).run,
  'keys list': async () => (await import('./commands/keys.ts')).listKeys,
  'keys revoke': async () => (await import('./commands/keys.ts')).revokeKey,
  'keys rotate': async () => (await import('./commands/keys.ts')).rotateKeys,
  kubeconfig: async () => (await import('./commands/kubeconfig.ts')).writeKubeconfig,
  kubectl: async () => (await import('./commands/kubectl.ts')).run,
  login: async () => (await import('./commands/sessions.ts')).login,
  logout: async () => (await import('./commands/sessions.ts')).logout,
  mcp: async () => (await import('./commands/mcp.ts')).run,
  open: async () => (await import('./commands/open.ts')).run,
  'pass approve': async () => approvals().then(({ decide, PASSES }) => decide('Approved', PASSES)),
  'pass deny': async () => approvals().then(({ decide, PASSES }) => decide('Denied', PASSES)),
  'pass list': async () => approvals().then(({ listApprovables, PASSES }) => listApprovables(PASSES)),
  'pass request': async () => (await import('./commands/pass.ts')).requestPass,
  'pass revoke': async () => (await import('./commands/pass.ts')).revokePasses,
  'pass show': async () => (await import('./commands/pass.ts')).showPasses,
  register: async () => (await import('./commands/register.ts')).register,
  'request approve': async () => approvals().then(({ decide, REQUESTS }) => decide('Approved', REQUESTS)),
  'request create': async () => (await import('./commands/request.ts')).createRequest,
  'request deny': async () => approvals().then(({ decide, REQUESTS }) => decide('Denied', REQUESTS)),
  'request list': async () => approvals().then(({ listApprovables, REQUESTS }) => listApprovables(REQUESTS)),
  'request show': async () => (await import('./commands/request.ts')).showRequests,
  'request withdraw': async () => approvals().then(({ decide, REQUESTS }) => decide('Withdrawn', REQUESTS)),
  servers: async () => (await import('./commands/sessions.ts')).listServers,
  'servers use': async () => (await import('./commands/sessions.ts')).useServer,
  'sync export': async () => (await import('./commands/sync-export.ts')).run,
  'sync import': async () => (await import('./commands/sync-import.ts')).run,
  'token list': async () => (await import('./commands/token.ts')).listTokens,
  'token revoke': async () => (await import('./commands/token.ts')).revokeTokens,
  trust: async () => (await import('./commands/trust.ts')).run,
  use: async () => (await import('./commands/kubeconfig.ts')).useCluster,
  version: async () => (await import('./commands/version.ts')).run,
  whoami: async () => (await import('./commands/auth.ts')).whoami,
};

export async function loadCommand({ path }: Command): Promise<Run> {
  const name = path.join(' ');
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`no code for the command "${name}"`);
  return load();
}
