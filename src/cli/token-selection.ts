import { fieldSelectorFor } from '../api/field-selector-text.ts';
import type { Invocation } from './command.ts';
import { parseServiceAccount } from './service-account.ts';

interface SelectedTokens {
  readonly cluster?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** The user name. */
  readonly requester?: string | undefined;
}

/** The field selector of `--cluster`, `--account` and `--requester`; undefined when none is given. */
export function givenTokenSelector(invocation: Invocation): string | undefined {
  const account = invocation.text('account');
  return tokenSelector({
    cluster: invocation.text('cluster'),
    ...(account === undefined ? {} : parseServiceAccount(account, '--account')),
    requester: invocation.text('requester'),
  });
}

/** The field selector of tokens of a service account; undefined when nothing is selected. */
export function tokenSelector({ cluster, namespace, name, requester }: SelectedTokens): string | undefined {
  return fieldSelectorOf({
    'spec.cluster': cluster,
    'spec.serviceAccount.namespace': namespace,
    'spec.serviceAccount.name': name,
    'spec.requestedBy.username': requester,
  });
}

/** The field selector of the fields that have a value; undefined when none has. */
export function fieldSelectorOf(wanted: Readonly<Record<string, string | undefined>>): string | undefined {
  const parts = Object.entries(wanted).flatMap(([field, value]) =>
    value === undefined ? [] : [fieldSelectorFor(field, value)],
  );
  return parts.length === 0 ? undefined : parts.join(',');
}
