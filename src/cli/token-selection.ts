import { fieldSelectorFor } from '../api/field-selector-text.ts';
import type { Invocation } from './command.ts';
import { parseServiceAccount } from './service-account.ts';

/** The field selector of `--cluster`, `--account` and `--requester`; undefined when none is given. */
export function givenTokenSelector(invocation: Invocation): string | undefined {
  const account = invocation.text('account');
  const { namespace, name } = account === undefined ? {} : parseServiceAccount(account, '--account');
  return fieldSelectorOf({
    'spec.cluster': invocation.text('cluster'),
    'spec.serviceAccount.namespace': namespace,
    'spec.serviceAccount.name': name,
    'spec.requestedBy.username': invocation.text('requester'),
  });
}

/** The field selector of the fields that have a value; undefined when none has. */
export function fieldSelectorOf(wanted: Readonly<Record<string, string | undefined>>): string | undefined {
  const parts = Object.entries(wanted).flatMap(([field, value]) =>
    value === undefined ? [] : [fieldSelectorFor(field, value)],
  );
  return parts.length === 0 ? undefined : parts.join(',');
}
