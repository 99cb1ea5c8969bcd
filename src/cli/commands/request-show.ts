import type { ApiObject } from '../../api/kind.ts';
import { accessText, type RequestUser, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { objectPath, REQUESTS } from '../access-requests.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { asList, printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';
import { terminalSafe } from '../output/terminal-safe.ts';

export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
  const client = await connect(context, invocation);
  const requests: ApiObject[] = [];
  for (const name of invocation.args) {
    requests.push((await client.request<ApiObject>('GET', objectPath(REQUESTS, name))).value);
  }
  if (print !== undefined) context.out.write(print(requests.length === 1 ? requests[0] : asList(requests)));
  else context.out.write(requests.map(describe).join('\n'));
  return 0;
};

function describe(request: ApiObject): string {
  const spec = requestSpec(request);
  const { phase, conditions = [], decidedBy, withdrawnBy, bindingRef, expirationTimestamp } = requestStatus(request);
  const binding =
    bindingRef && `${bindingRef.kind} ${[bindingRef.namespace, bindingRef.name].filter(Boolean).join('/')}`;
  const rows: (readonly [string, string | undefined])[] = [
    ['Name:', request.metadata.name],
    ['Requester:', person(spec.requestedBy)],
    ['Cluster:', spec.cluster],
    ['Access:', accessText(spec)],
    ['Reason:', spec.reason],
    ['Duration:', `${spec.durationSeconds ?? 0} seconds`],
    ['Phase:', phase],
    ['Expires:', expirationTimestamp],
    ['Decided by:', person(decidedBy)],
    ['Withdrawn by:', person(withdrawnBy)],
    ['Binding:', binding],
    ...conditions.map(({ type, lastTransitionTime, reason = '', message = '' }): readonly [string, string] => [
      `${type}:`,
      [lastTransitionTime, reason, message].filter((text) => text !== undefined && text !== '').join(', '),
    ]),
  ];
  return renderTable(rows.flatMap(([title, text]) => (text ? [[terminalSafe(title), terminalSafe(text)]] : [])));
}

export function person(user: RequestUser | undefined): string | undefined {
  if (user === undefined) return undefined;
  const { username, actors = [] } = user;
  return actors.length === 0 ? username : `${username} (also ${actors.join(', ')})`;
}
