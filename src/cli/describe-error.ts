import { ConnectionError, StatusError } from '../client/errors.ts';
import { UnsafeFile } from '../lib/secret-file.ts';
import { terminalSafe, terminalSafeLines } from '../lib/text.ts';
import { NotServedError } from '../sync/api-version.ts';
import { CliError } from './command.ts';

/** The message for an error, in kubectl's words; undefined for a bug of this program. */
export function describeError(error: unknown): string | undefined {
  // It may quote what others wrote: an annotation, the answer of a hub, a certificate.
  const isTold = [CliError, NotServedError, UnsafeFile].some((type) => error instanceof type);
  if (isTold) return `error: ${terminalSafeLines((error as Error).message)}`;
  if (error instanceof ConnectionError) {
    const hint = error.isUntrusted ? '; if you trust it, pass its CA with --certificate-authority FILE' : '';
    return `Unable to connect to the server: ${terminalSafe(error.message)}${hint}`;
  }
  if (!(error instanceof StatusError)) return undefined;
  if (error.code === 401) {
    const from = error.credentialSource === undefined ? '' : `, ${terminalSafe(error.credentialSource)}`;
    return `error: You must be logged in to the server (Unauthorized)${from}`;
  }
  const reason = error.reason === '' ? '' : ` (${terminalSafe(error.reason)})`;
  return `Error from server${reason}: ${terminalSafeLines(error.message)}`;
}

/** What a command that failed prints. */
export const failureText = (error: unknown): string =>
  describeError(error) ?? `error: ${error instanceof Error ? error.stack : String(error)}`;

/** Whether the server refused one object only, so that the command can continue with the next. */
export const isObjectError = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.code !== 401;

/** The problem and its position: the first line of a YAML parser's message. An excerpt follows it after a colon. */
export const yamlProblem = ({ message }: { readonly message: string }): string =>
  (message.split('\n', 1)[0] ?? '').replace(/:$/, '');
