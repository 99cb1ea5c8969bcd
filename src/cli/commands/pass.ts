import { approvalPage } from '../../api/approval-page.ts';
import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import type { ApiObject } from '../../api/kind.ts';
import { expiryOf } from '../../api/kinds/approval.ts';
import { isHandle, type PassSpec, passSpec, passStatus, redeemCommand } from '../../api/kinds/pass-spec.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { codeChallengeFor } from '../connection/machine-key.ts';
import { forgetPass, writePassKubeconfig } from '../kubeconfig/pass-kubeconfig.ts';
import { isPrinted } from '../output/printer.ts';
import { parseServiceAccount } from '../service-account.ts';
import {
  approvablePath,
  bindingRow,
  conditionRows,
  forEach,
  mayBeAbsent,
  nextRows,
  objectName,
  PASSES,
  person,
  type Row,
  showApprovable,
} from './approvals.ts';

/** A pass for the person itself: no client is named, so no binding for agents is needed. */
export const requestPass: Run = async (context, invocation) => {
  const durationSeconds = invocation.seconds('duration');
  const audiences = invocation.list('audience');
  const spec: PassSpec = {
    cluster: invocation.required('cluster'),
    serviceAccount: parseServiceAccount(invocation.required('account'), '--account'),
    ...(audiences.length === 0 ? {} : { audiences: [...audiences] }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    purpose: invocation.required('purpose'),
  };
  const connection = await resolveConnection(context, invocation);
  const bound = invocation.is('anyMachine')
    ? {}
    : { codeChallenge: await codeChallengeFor(context, connection.server) };
  const client = clientFor(context, connection);
  const { value } = await client.request<ApiObject>('POST', PASSES.path, {
    expects: 'object',
    query: { fieldManager: 'clusterpass' },
    body: { ...PASSES.type, metadata: {}, spec: { ...spec, ...bound } },
  });
  // It becomes part of commands to copy.
  const handle = value.metadata.name ?? '';
  if (!isHandle(handle)) throw new CliError('the server has answered with a pass that has no handle');
  if (await isPrinted(context, invocation, value)) return;
  const { phase, approval, expirationTimestamp } = passStatus(value);
  const isReady = phase === 'Ready';
  const state = isReady ? `ready until ${expirationTimestamp}` : `waits for an approval until ${expirationTimestamp}`;
  context.out.write(`${terminalSafe(`${objectName(PASSES, value)} ${state}`)}\n`);
  if (!isReady) {
    const who = approval === 'confirm' ? 'Confirm it' : 'Another person has to approve it';
    context.err.write(`${who}: ${approvalPage(connection.server, 'passes', handle)}\n`);
  }
  context.err.write(`${await nextStep()}\n`);

  async function nextStep(): Promise<string> {
    const redeem = redeemCommand(handle);
    const when = isReady ? 'Next' : 'After the approval';
    try {
      const file = await writePassKubeconfig(context, connection, client, value);
      return `${when}: kubectl --kubeconfig ${file} auth whoami`;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return `Warning: ${terminalSafe(error.message)}\n${when}: ${redeem}`;
    }
  }
};

export const showPasses: Run = showApprovable(PASSES, (pass) => {
  const spec = passSpec(pass);
  const {
    cluster,
    serviceAccount = {},
    audiences,
    durationSeconds,
    purpose,
    codeChallenge,
    requestedBy,
    client,
  } = spec;
  const status = passStatus(pass);
  return [
    ['Handle:', pass.metadata.name],
    ['Requester:', person(requestedBy)],
    ['Client:', client?.id],
    // Not verified, so it is apart from the id.
    ['Calls itself:', client?.name],
    ['Cluster:', cluster],
    ['Account:', `${serviceAccount.namespace}/${serviceAccount.name}`],
    ['Audiences:', audiences?.join(', ')],
    ['Purpose:', purpose],
    ['Duration:', exactDuration(durationSeconds ?? 0)],
    ['Redeemable:', codeChallenge === undefined ? undefined : 'only on the machine that requested it'],
    ['Phase:', status.phase],
    ['Approval:', status.approval],
    ['Expires:', expiryOf(pass)],
    ['Decided by:', person(status.decidedBy)],
    bindingRow(status),
    ...nextRows(spec, status),
    ...(status.tokens ?? []).map(
      ({ id = 'without an id', expirationTimestamp }): Row => ['Token:', `${id}, until ${expirationTimestamp}`],
    ),
    ...conditionRows(status),
  ];
});

/** Deletes passes, which revokes the tokens that they were redeemed for. */
export const revokePasses: Run = async (context, invocation) => {
  const connection = await resolveConnection(context, invocation);
  const client = clientFor(context, connection);
  return forEach(context, PASSES, invocation.args, async (argument) => {
    const path = approvablePath(PASSES, argument);
    const name = path.slice(path.lastIndexOf('/') + 1);
    try {
      await client.request('DELETE', path);
    } catch (error) {
      // It may have been revoked from another machine.
      if (mayBeAbsent(error)) await forgetPass(context, connection.server, name);
      throw error;
    }
    await forgetPass(context, connection.server, name);
    context.out.write(`${terminalSafe(`${PASSES.kind.singular}.${PASSES.kind.group}/${name} revoked`)}\n`);
  });
};
