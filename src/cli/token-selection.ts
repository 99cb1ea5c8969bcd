import { fieldSelectorFor } from './clusters.ts';
import type { Invocation } from './command.ts';
import { parseServiceAccount } from './service-account.ts';

/** The field selector of `--cluster`, `--account` and `--requester`; undefined when none is given. */
export function tokenFieldSelector(invocation: Invocation): string | undefined {
  const cluster = invocation.text('cluster');
  const account = invocation.text('account');
  const requester = invocation.text('requester');
  const { namespace, name } = account === undefined ? {} : parseServiceAccount(account, '--account');
  const wanted: Readonly<Record<string, string | undefined>> = {
    'spec.cluster': cluster,
    'spec.serviceAccount.namespace': namespace,
    'spec.serviceAccount.name': name,
    'spec.requestedBy.username': requester,
  };
  const parts = Object.entries(wanted).flatMap(([field, value]) =>
    value === undefined ? [] : [fieldSelectorFor(field, value)],
  );
  return parts.length === 0 ? undefined : parts.join(',');
}
