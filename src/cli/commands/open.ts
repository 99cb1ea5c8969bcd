import { approvalPage, clusterPage } from '../../api/approval-page.ts';
import { checkClusterName } from '../clusters.ts';
import { type Run, UsageError } from '../command.ts';
import { resolveConnection } from '../connection/connection.ts';
import { openBrowser } from '../open-browser.ts';

/** Prints the address of a page of the console, and opens it in a browser if a person runs the command. */
export const run: Run = async (context, invocation) => {
  const { server } = await resolveConnection(context, invocation);
  const page = pageOf(server, invocation.args);
  context.out.write(`${page}\n`);
  if (context.err.isTerminal && !invocation.isOff('browser')) openBrowser(new URL(page), context.env);
};

function pageOf(server: string, [first, name]: readonly string[]): string {
  if (first === undefined) return `${server}/console/`;
  if (name !== undefined) {
    if (first === 'request') return approvalPage(server, 'accessrequests', name);
    if (first === 'pass') return approvalPage(server, 'passes', name);
    throw new UsageError('name a cluster, request NAME or pass HANDLE');
  }
  checkClusterName(first);
  return clusterPage(server, first);
}
