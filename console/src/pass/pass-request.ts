import type { BoundObjectReference, TokenOptions } from '../../../src/client/index.ts';
import { commaList } from '../comma-list.ts';

/** A service account of a cluster. Empty strings until the user has chosen one. */
export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

/** The other fields of the form. */
export interface PassDraft {
  /** Comma-separated; empty for the default audience of the cluster. */
  readonly audiences: string;
  readonly seconds: number;
  readonly boundKind: '' | 'Pod' | 'Secret';
  readonly boundName: string;
  /** Whether the server creates an IssuedToken, which the user can delete to revoke the pass. */
  readonly tracked: boolean;
}

export const NEW_DRAFT: PassDraft = { audiences: '', seconds: 3_600, boundKind: '', boundName: '', tracked: true };

/** What the user still has to enter; `""` if nothing is missing. */
export function missingInput(account: AccountRef, { boundKind, boundName }: PassDraft): string {
  if (account.namespace === '' || account.name === '') return 'Enter a namespace and a service account.';
  return boundKind !== '' && boundName === '' ? `Enter the name of the ${boundKind}.` : '';
}

export function requestFor(
  cluster: string,
  account: AccountRef,
  { audiences, seconds, boundKind, boundName, tracked }: PassDraft,
): TokenOptions {
  const boundObjectRef: BoundObjectReference | undefined =
    boundKind === '' ? undefined : { apiVersion: 'v1', kind: boundKind, name: boundName };
  return {
    cluster,
    ...account,
    audiences: commaList(audiences),
    expirationSeconds: seconds,
    tracked,
    ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
  };
}
