import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { CliError } from './command.ts';
import { describeError } from './describe-error.ts';
import { terminalSafe } from './output/terminal-safe.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Parses `namespace/name`. Kubeconfigs pass both to a program as arguments, so only valid names are accepted. */
export function parseServiceAccount(text: string, flag: string): ServiceAccount {
  const [namespace = '', name = '', ...more] = text.split('/');
  const problems = [...isDns1123Label(namespace), ...isDns1123Subdomain(name)];
  if (more.length > 0 || problems.length > 0) {
    throw new CliError(`${flag}: ${JSON.stringify(text)} is not a service account in the form namespace/name`);
  }
  return { namespace, name };
}

/** A slow cluster must not block writing the kubeconfig. */
const DRY_RUN_TIMEOUT_MS = 10_000;

/**
 * Requests a token with a dry run and returns why that fails; undefined if it succeeds. Otherwise a kubeconfig for a
 * missing account would only fail when kubectl uses it.
 */
export async function tokenProblem(
  client: Client,
  cluster: string,
  account: ServiceAccount,
): Promise<string | undefined> {
  const who = `${account.namespace}/${account.name}`;
  const signal = AbortSignal.timeout(DRY_RUN_TIMEOUT_MS);
  try {
    await client.createToken({ cluster, ...account, dryRun: true, signal });
    return undefined;
  } catch (error) {
    if (isStatus(error, 404)) return `there is no service account ${who} in ${cluster}: ${terminalSafe(error.message)}`;
    if (isStatus(error, 403))
      return `you may not issue tokens for ${who} in ${cluster}: ${terminalSafe(error.message)}`;
    const text = signal.aborted ? 'timed out' : describeError(error);
    if (text === undefined) throw error;
    return `could not test a token of ${who} in ${cluster}: ${text}`;
  }
}
