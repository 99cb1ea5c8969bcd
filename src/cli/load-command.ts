import type { Command, Run } from './command.ts';

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
  'get accounts': async () => (await import('./commands/get-accounts.ts')).run,
  'get clusters': async () => (await import('./commands/get-clusters.ts')).run,
  grant: async () => (await import('./commands/grant.ts')).run,
  'keys list': async () => (await import('./commands/keys.ts')).listKeys,
  'keys revoke': async () => (await import('./commands/keys.ts')).revokeKey,
  'keys rotate': async () => (await import('./commands/keys.ts')).rotateKeys,
  kubeconfig: async () => (await import('./commands/kubeconfig.ts')).writeKubeconfig,
  kubectl: async () => (await import('./commands/kubectl.ts')).run,
  login: async () => (await import('./commands/login.ts')).run,
  logout: async () => (await import('./commands/logout.ts')).run,
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
  servers: async () => (await import('./commands/servers.ts')).listServers,
  'servers use': async () => (await import('./commands/servers.ts')).useServer,
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
