import type { ApiObject } from '../../api/kind.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { objectPath, PASSES } from '../access-requests.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { asList, printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import { person } from './request-show.ts';

export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
  const client = await connect(context, invocation);
  const passes: ApiObject[] = [];
  for (const handle of invocation.args) {
    passes.push((await client.request<ApiObject>('GET', objectPath(PASSES, handle))).value);
  }
  if (print !== undefined) context.out.write(print(passes.length === 1 ? passes[0] : asList(passes)));
  else context.out.write(passes.map(describe).join('\n'));
  return 0;
};

/** What the client calls itself is not verified, so it is apart from its id. */
function describe(pass: ApiObject): string {
  const { cluster, serviceAccount = {}, audiences, durationSeconds, purpose, requestedBy, client } = passSpec(pass);
  const {
    phase,
    approval,
    conditions = [],
    decidedBy,
    bindingRef,
    expirationTimestamp,
    tokens = [],
  } = passStatus(pass);
  const binding =
    bindingRef && `${bindingRef.kind} ${[bindingRef.namespace, bindingRef.name].filter(Boolean).join('/')}`;
  const rows: (readonly [string, string | undefined])[] = [
    ['Handle:', pass.metadata.name],
    ['Requester:', person(requestedBy)],
    ['Client:', client?.id],
    ['Calls itself:', client?.name],
    ['Cluster:', cluster],
    ['Account:', `${serviceAccount.namespace}/${serviceAccount.name}`],
    ['Audiences:', audiences?.join(', ')],
    ['Purpose:', purpose],
    ['Duration:', `${durationSeconds ?? 0} seconds`],
    ['Phase:', phase],
    ['Approval:', approval],
    ['Expires:', expirationTimestamp],
    ['Decided by:', person(decidedBy)],
    ['Binding:', binding],
    ...tokens.map(({ id, expirationTimestamp: ends }): readonly [string, string] => ['Token:', `${id}, until ${ends}`]),
    ...conditions.map(({ type, lastTransitionTime, reason = '', message = '' }): readonly [string, string] => [
      `${type}:`,
      [lastTransitionTime, reason, message].filter((text) => text !== undefined && text !== '').join(', '),
    ]),
  ];
  return renderTable(rows.flatMap(([title, text]) => (text ? [[terminalSafe(title), terminalSafe(text)]] : [])));
}
