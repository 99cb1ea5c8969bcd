import { ConnectionError, StatusError } from '../client/errors.ts';
import { CliError } from './command.ts';
import { printable } from './output/terminal-safe.ts';

/** What is said of an error, in the words of kubectl. Undefined for what is a fault of this program. */
export function describeError(error: unknown): string | undefined {
  if (error instanceof CliError) return `error: ${error.message}`;
  if (error instanceof ConnectionError) {
    const hint = error.isUntrusted ? '; if you trust it, give its authority by --certificate-authority FILE' : '';
    return `Unable to connect to the server: ${printable(error.message)}${hint}`;
  }
  if (!(error instanceof StatusError)) return undefined;
  if (error.code === 401) return 'error: You must be logged in to the server (Unauthorized)';
  const reason = error.reason === '' ? '' : ` (${printable(error.reason)})`;
  return `Error from server${reason}: ${printable(error.message)}`;
}

/** Whether the server refused this one object only, so that it makes sense to go on with the next. */
export const isAboutOne = (error: unknown): error is StatusError => error instanceof StatusError && error.code !== 401;
