import type { Command, Run } from './command.ts';

type Load = () => Promise<{ readonly run: Run }>;

const decide = async (of: 'PASSES' | 'REQUESTS', type: 'Approved' | 'Denied' | 'Withdrawn') => {
  const [{ runFor }, kinds] = await Promise.all([import('./commands/request-decide.ts'), import('./approvable.ts')]);
  return { run: runFor(type, kinds[of]) };
};

const listOf = async (of: 'PASSES' | 'REQUESTS') => {
  const [{ runFor }, kinds] = await Promise.all([import('./commands/request-list.ts'), import('./approvable.ts')]);
  return { run: runFor(kinds[of]) };
};

/**
 * The code of each command, by its path. Imported when the command runs: every kubectl starts `credential` and must not
 * wait for the modules of the other commands.
 */
const LOADERS: Readonly<Record<string, Load>> = {
  'auth can-i': () => import('./commands/can-i.ts'),
  'auth reach': () => import('./commands/reach.ts'),
  'auth why': () => import('./commands/why.ts'),
  completion: () => import('./commands/completion.ts'),
  confirm: () => import('./commands/confirm.ts'),
  'create bootstrap-token': () => import('./commands/create-bootstrap-token.ts'),
  'create token': () => import('./commands/create-token.ts'),
  credential: () => import('./commands/credential.ts'),
  'describe cluster': () => import('./commands/describe-cluster.ts'),
  exec: () => import('./commands/exec.ts'),
  'get clusters': () => import('./commands/get-clusters.ts'),
  join: () => import('./commands/join.ts'),
  'keys list': () => import('./commands/keys-list.ts'),
  'keys revoke': () => import('./commands/keys-revoke.ts'),
  'keys rotate': () => import('./commands/keys-rotate.ts'),
  kubeconfig: () => import('./commands/kubeconfig.ts'),
  kubectl: () => import('./commands/kubectl.ts'),
  login: () => import('./commands/login.ts'),
  logout: () => import('./commands/logout.ts'),
  mcp: () => import('./commands/mcp.ts'),
  mirror: () => import('./commands/mirror.ts'),
  register: () => import('./commands/register.ts'),
  'pass approve': () => decide('PASSES', 'Approved'),
  'pass deny': () => decide('PASSES', 'Denied'),
  'pass list': () => listOf('PASSES'),
  'pass request': () => import('./commands/pass-request.ts'),
  'pass revoke': () => import('./commands/pass-revoke.ts'),
  'pass show': () => import('./commands/pass-show.ts'),
  'request approve': () => decide('REQUESTS', 'Approved'),
  'request create': () => import('./commands/request-create.ts'),
  'request deny': () => decide('REQUESTS', 'Denied'),
  'request list': () => listOf('REQUESTS'),
  'request show': () => import('./commands/request-show.ts'),
  'request withdraw': () => decide('REQUESTS', 'Withdrawn'),
  servers: () => import('./commands/servers.ts'),
  'servers use': () => import('./commands/servers-use.ts'),
  'sync export': () => import('./commands/sync-export.ts'),
  'sync import': () => import('./commands/sync-import.ts'),
  'token list': () => import('./commands/token-list.ts'),
  'token revoke': () => import('./commands/token-revoke.ts'),
  trust: () => import('./commands/trust.ts'),
  version: () => import('./commands/version.ts'),
  'who-can': () => import('./commands/who-can.ts'),
  whoami: () => import('./commands/whoami.ts'),
};

export async function loadCommand({ path }: Command): Promise<Run> {
  const name = path.join(' ');
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`no code for the command "${name}"`);
  return (await load()).run;
}
