import type { Context, Invocation } from '../command.ts';

/** kubectl runs `clusterpass credential` with the variables of its environment, not with the flags of this command. */
export function warnOfTokenFlag({ err }: Context, invocation: Invocation, server: string): void {
  const given = [
    ['--token', 'CLUSTERPASS_TOKEN', invocation.text('token')],
    ['--token-file', 'CLUSTERPASS_TOKEN_FILE', invocation.text('tokenFile')],
  ].find(([, , value]) => value !== undefined);
  if (given === undefined) return;
  const [flag, variable] = given;
  const instead = `run clusterpass login --server ${server}, or set ${variable}`;
  err.write(`Warning: kubectl uses your login for ${server}, not ${flag}: ${instead}\n`);
}
