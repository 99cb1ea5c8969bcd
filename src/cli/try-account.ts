import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { describeError } from './describe-error.ts';
import { printable } from './output/terminal-safe.ts';
import type { Account } from './service-account.ts';

/** A cluster that is slow to answer must not keep anybody from their kubeconfig. */
const TRY_MS = 10_000;

/**
 * Asks whether a token would be granted, without being given one, and tells what speaks against it. A kubeconfig for
 * an account that does not exist looks well until kubectl fails with it.
 */
export async function accountProblem(client: Client, cluster: string, account: Account): Promise<string | undefined> {
  const who = `${account.namespace}/${account.name}`;
  const signal = AbortSignal.timeout(TRY_MS);
  try {
    await client.createToken({ cluster, ...account, dryRun: true, signal });
    return undefined;
  } catch (error) {
    if (isStatus(error, 404)) return `there is no service account ${who} in ${cluster}: ${printable(error.message)}`;
    if (isStatus(error, 403)) return `you may not issue tokens for ${who} in ${cluster}: ${printable(error.message)}`;
    const text = signal.aborted ? 'no answer in time' : describeError(error);
    if (text === undefined) throw error;
    return `no token of ${who} in ${cluster} could be tried: ${text}`;
  }
}
