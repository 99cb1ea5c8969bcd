import { ConnectionError, StatusError } from '../client/errors.ts';
import { CliError } from './command.ts';
import { printable } from './printable.ts';

/** What is said of an error, in the words of kubectl. Undefined for what is a fault of this program. */
export function describeError(error: unknown): string | undefined {
  if (error instanceof CliError) return `error: ${error.message}`;
  if (error instanceof ConnectionError) return `Unable to connect to the server: ${printable(error.message)}`;
  if (!(error instanceof StatusError)) return undefined;
  if (error.code === 401) return 'error: You must be logged in to the server (Unauthorized)';
  const reason = error.reason === '' ? '' : ` (${printable(error.reason)})`;
  return `Error from server${reason}: ${printable(error.message)}`;
}
