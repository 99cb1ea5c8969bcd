import type { ApiObject } from '../../api/kind.ts';
import { accessText, type RequestDecision, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { requestName, requestPath } from '../access-requests.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError, isObjectError } from '../describe-error.ts';
import { isDryRun } from '../dry-run.ts';
import { terminalSafe } from '../output/terminal-safe.ts';

/** `approve`, `deny` and `withdraw`: each adds a condition to the request. */
export const runFor =
  (type: RequestDecision): Run =>
  async (context, invocation) => {
    const message = invocation.text('message');
    const dryRun = isDryRun(invocation);
    const client = await connect(context, invocation);
    const condition = { type, status: 'True', ...(message === undefined ? {} : { message }) };
    let failed = 0;
    for (const name of invocation.args) {
      try {
        const { value } = await client.request<ApiObject>('PATCH', `${requestPath(name)}/approval`, {
          query: { fieldManager: 'clusterpass', ...(dryRun ? { dryRun: 'All' } : {}) },
          body: { status: { conditions: [condition] } },
          contentType: 'application/merge-patch+json',
        });
        const done = `${requestName(value)} ${type.toLowerCase()}${dryRun ? ' (server dry run)' : ''}`;
        context.out.write(`${terminalSafe(`${done}${granted(value)}`)}\n`);
      } catch (error) {
        if (!isObjectError(error)) throw error;
        failed++;
        context.err.write(`${describeError(error)}\n`);
      }
    }
    return failed > 0 ? 1 : 0;
  };

function granted(request: ApiObject): string {
  const { phase, expirationTimestamp } = requestStatus(request);
  if (phase !== 'Approved') return '';
  const spec = requestSpec(request);
  return `: ${accessText(spec)} in ${spec.cluster} for ${spec.requestedBy?.username} until ${expirationTimestamp}`;
}
