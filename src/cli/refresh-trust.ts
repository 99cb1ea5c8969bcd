import { type FileHandle, open } from 'node:fs/promises';
import { parse } from 'yaml';
import { requestFailed } from '../client/errors.ts';
import type { Fetch } from '../client/transport.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { unverifiableToken } from '../lib/unverifiable-token.ts';
import { CliError } from './command.ts';

/**
 * kube-apiserver tries the keys that it has, however old they are. It reads the key set again when it loads its
 * authentication file, and when a token does not verify and its key set is older than `max-age` (an hour).
 */

const MARK = '# clusterpass trust --refresh: ';
const STAMP = /# clusterpass trust --refresh: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

/**
 * Changes a comment in the file of `--authentication-config`, which makes kube-apiserver load it. In place: a container
 * that has the file mounted would not see a new one. The text is valid at every moment, because a comment is appended,
 * or a time is replaced by another of the same length.
 */
export async function touchAuthenticationFile(path: string, now: number): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'r+');
    const text = await handle.readFile('utf8');
    requireAuthenticationConfiguration(path, text);
    const stamp = new Date(now).toISOString();
    const found = STAMP.exec(text);
    const [added, at] =
      found === null
        ? [`${text.endsWith('\n') ? '' : '\n'}${MARK}${stamp}\n`, Buffer.byteLength(text)]
        : [stamp, Buffer.byteLength(text.slice(0, found.index)) + MARK.length];
    await handle.write(Buffer.from(added), 0, Buffer.byteLength(added), at);
    await handle.sync();
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`cannot change ${path}: ${fileProblem(error)}`);
  } finally {
    await handle?.close();
  }
}

function requireAuthenticationConfiguration(path: string, text: string): void {
  let kind: unknown;
  try {
    kind = (parse(text) as { kind?: unknown } | null)?.kind;
  } catch {
    // Reported below.
  }
  if (kind !== 'AuthenticationConfiguration') {
    throw new CliError(`${path} is not an AuthenticationConfiguration: name the file of --authentication-config`);
  }
}

const TIMEOUT_MS = 10_000;

/** Sends the API server a token that no key verifies. The expected answer is 401. */
export async function sendUnverifiableToken(
  fetch: Fetch,
  { address, issuer, audience, now }: { address: string; issuer: string; audience: string; now: number },
): Promise<void> {
  const token = unverifiableToken({ issuer, audience, algorithm: 'ES256', now });
  let status: number;
  try {
    const response = await fetch(`${address.replace(/\/+$/, '')}/version`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    throw new CliError(requestFailed(address, error).message);
  }
  if (status !== 401) throw new CliError(`${address} answered ${status} where 401 was expected: is it the API server?`);
}
