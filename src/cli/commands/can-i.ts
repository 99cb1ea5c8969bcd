import { reviewAccess, reviewRules } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { renderTable } from '../output/table.ts';
import { askedAction, checkCluster } from '../resource-attributes.ts';

/** Prints `yes` and exits with 0, or `no` and exits with 1. With `--list`, prints all allowed actions. */
export const run: Run = async (context, invocation) => {
  if (invocation.is('list')) {
    if (invocation.args.length > 0) throw new CliError('VERB and TYPE cannot be used with --list');
    return printRules(context, invocation, await connect(context, invocation));
  }
  if (invocation.isOff('headers')) throw new CliError('--no-headers cannot be set without --list');
  const [verb, type, name] = invocation.args;
  if (verb === undefined || type === undefined) throw new CliError('you must specify VERB and TYPE, or --list');
  const client = await connect(context, invocation);
  checkCluster(invocation, client, type);
  const asked = askedAction(context, invocation, client, verb, type, name);
  const status = await reviewAccess(client, invocation.text('cluster'), asked);
  const allowed = status.allowed === true;
  if (!invocation.is('quiet')) {
    const reason = !allowed && status.reason ? ` - ${terminalSafe(status.reason)}` : '';
    const problem = status.evaluationError ? ` - ${terminalSafe(status.evaluationError)}` : '';
    context.out.write(`${allowed ? 'yes' : 'no'}${reason}${problem}\n`);
  }
  return allowed ? 0 : 1;
};

async function printRules(context: Context, invocation: Invocation, client: Client): Promise<number> {
  const rules = await reviewRules(client, invocation.text('cluster'), invocation.value('namespace'));
  if (rules.evaluationError)
    context.err.write(`Warning: the list may be incomplete: ${terminalSafe(rules.evaluationError)}\n`);
  const cell = (values: readonly string[] | undefined): string => `[${(values ?? []).map(terminalSafe).join(' ')}]`;
  const rows: string[][] = [];
  for (const { resources = [], apiGroups = [''], resourceNames, verbs } of rules.resourceRules ?? []) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        const shown = resource === '*' ? `*.${group}` : `${resource}${group === '' ? '' : `.${group}`}`;
        rows.push([terminalSafe(shown), '[]', cell(resourceNames), cell(verbs)]);
      }
    }
  }
  rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  for (const { nonResourceURLs, verbs } of rules.nonResourceRules ?? []) {
    rows.push(['', cell(nonResourceURLs), '[]', cell(verbs)]);
  }
  const head = invocation.isOff('headers') ? [] : [['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs']];
  context.out.write(renderTable([...head, ...rows]));
  return 0;
}
