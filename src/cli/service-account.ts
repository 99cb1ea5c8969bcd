import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { CliError, type Invocation } from './command.ts';
import { describeError } from './describe-error.ts';
import { terminalSafe } from './output/terminal-safe.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Whose passes are requested: those of an account, or of the caller (`--as-me`). */
export type PassSubject = ServiceAccount | 'me';

/** Of `--as` and `--as-me`; undefined when neither is given. */
export function passSubject(invocation: Invocation): PassSubject | undefined {
  const as = invocation.text('as');
  if (!invocation.is('asMe')) return as === undefined ? undefined : parseServiceAccount(as, '--as');
  if (as !== undefined) throw new CliError('set --as or --as-me, not both');
  return 'me';
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
export async function tokenProblem(client: Client, cluster: string, account: PassSubject): Promise<string | undefined> {
  if (account === 'me') return personProblem(client, cluster);
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

async function personProblem(client: Client, cluster: string): Promise<string | undefined> {
  const signal = AbortSignal.timeout(DRY_RUN_TIMEOUT_MS);
  try {
    await client.createUserpass({ cluster, dryRun: true, signal });
    return undefined;
  } catch (error) {
    if (isStatus(error, 403)) return `you may not get a pass as yourself in ${cluster}: ${terminalSafe(error.message)}`;
    const text = signal.aborted ? 'timed out' : describeError(error);
    if (text === undefined) throw error;
    return `could not test a pass as yourself in ${cluster}: ${text}`;
  }
}
