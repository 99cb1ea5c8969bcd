import type { ApiObject } from '../../api/kind.ts';
import { isHandle, type PassSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { terminalSafe } from '../../lib/text.ts';
import { objectName, PASSES } from '../approvable.ts';
import { CliError, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { codeChallengeFor } from '../connection/machine-key.ts';
import { writePassKubeconfig } from '../kubeconfig/pass-kubeconfig.ts';
import { warnOfTokenFlag } from '../kubeconfig/warn-of-token-flag.ts';
import { printerFor } from '../output/printer.ts';
import { parseServiceAccount } from '../service-account.ts';

/** A pass for the person itself: no client is named, so no binding for agents is needed. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'name', 'yaml']);
  const durationSeconds = invocation.seconds('duration', '--duration');
  const audiences = invocation.list('audience');
  const spec: PassSpec = {
    cluster: invocation.required('cluster', '--cluster'),
    serviceAccount: parseServiceAccount(invocation.required('account', '--account'), '--account'),
    ...(audiences.length === 0 ? {} : { audiences: [...audiences] }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    purpose: invocation.required('purpose', '--purpose'),
  };
  const connection = await resolveConnection(context, invocation);
  const bound = invocation.is('anyMachine')
    ? {}
    : { codeChallenge: await codeChallengeFor(context, connection.server) };
  const client = await clientFor(context, connection);
  const { value } = await client.request<ApiObject>('POST', PASSES.path, {
    expects: 'object',
    query: { fieldManager: 'clusterpass' },
    body: { ...PASSES.type, metadata: {}, spec: { ...spec, ...bound } },
  });
  // It becomes part of commands to copy.
  const handle = value.metadata.name ?? '';
  if (!isHandle(handle)) throw new CliError('the server has answered with a pass that has no handle');
  if (print !== undefined) {
    context.out.write(print(value));
    return 0;
  }
  const { phase, approval, expirationTimestamp } = passStatus(value);
  const isReady = phase === 'Ready';
  const state = isReady ? `ready until ${expirationTimestamp}` : `waits for an approval until ${expirationTimestamp}`;
  context.out.write(`${terminalSafe(`${objectName(PASSES, value)} ${state}`)}\n`);
  if (!isReady) {
    const who = approval === 'confirm' ? 'Confirm it' : 'Another person has to approve it';
    context.err.write(`${who}: ${connection.server}/console/#/passes/${handle}\n`);
  }
  context.err.write(`${await nextStep()}\n`);
  return 0;

  async function nextStep(): Promise<string> {
    const redeem = `clusterpass credential --pass ${handle}`;
    const when = isReady ? 'Next' : 'After the approval';
    if (audiences.length > 0) return `${when}: ${redeem}`;
    try {
      const file = await writePassKubeconfig(context, connection, client, value);
      warnOfTokenFlag(context, invocation, connection.server);
      return `${when}: kubectl --kubeconfig ${file} auth whoami`;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return `Warning: ${terminalSafe(error.message)}\n${when}: ${redeem}`;
    }
  }
};
