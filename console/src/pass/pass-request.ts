import type { BoundObjectReference, TokenOptions } from '../../../src/client/index.ts';

/** What the person has chosen so far. */
export interface PassDraft {
  /** Comma-separated; empty for the cluster's own API. */
  readonly audiences: string;
  readonly seconds: number;
  readonly boundKind: '' | 'Pod' | 'Secret';
  readonly boundName: string;
  /** A record is kept of it, by which the person can revoke it. */
  readonly tracked: boolean;
}

export const NEW_DRAFT: PassDraft = { audiences: '', seconds: 3_600, boundKind: '', boundName: '', tracked: true };

export const audiencesIn = (text: string): string[] =>
  text
    .split(',')
    .map((audience) => audience.trim())
    .filter((audience) => audience !== '');

/** The request that a draft stands for; undefined while something is missing that no server has to be asked about. */
export function requestFor(
  cluster: string,
  account: { readonly namespace: string; readonly name: string },
  { audiences, seconds, boundKind, boundName, tracked }: PassDraft,
): TokenOptions | undefined {
  if (account.namespace === '' || account.name === '') return undefined;
  if (boundKind !== '' && boundName === '') return undefined;
  const boundObjectRef: BoundObjectReference | undefined =
    boundKind === '' ? undefined : { apiVersion: 'v1', kind: boundKind, name: boundName };
  return {
    cluster,
    ...account,
    audiences: audiencesIn(audiences),
    expirationSeconds: seconds,
    tracked,
    ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
  };
}
