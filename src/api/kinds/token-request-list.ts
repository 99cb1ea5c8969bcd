import { type Static, Type } from 'typebox';
import type { VirtualType } from '../kind.ts';
import type { Status } from '../status.ts';
import { flag, int64, list, SHORT, struct, text, texts, timestamp } from './meta.ts';
import { SERVER_API, virtualType } from './server-kind.ts';

/** So many that a person or a pipeline that reaches a whole environment needs few requests. */
const MAX_PASSES = 500;

const PassSchema = struct('IssuedPass', 'A token of one service account, or for the caller, in one cluster.', {
  cluster: text('The cluster.', SHORT),
  namespace: text('The namespace of the service account.', SHORT),
  serviceAccount: text('The name of the service account.', SHORT),
  userpass: flag('A pass for the caller itself, instead of a service account.'),
  group: text('The only group of the caller that a pass for the caller has.', SHORT),
  audiences: texts('The intended recipients; empty for the API of the cluster itself.'),
  expirationSeconds: int64('The requested lifetime in seconds; less may be granted.'),
  tracked: flag('Store an IssuedToken until the token expires.'),
  token: text('The bearer token. Absent when it was not issued.'),
  expirationTimestamp: timestamp('When the token expires.'),
  error: Type.Optional(Type.Unknown({ goType: 'Status', description: 'Why the token was not issued: a v1 Status.' })),
});

/** The request and the response of `/auth/v1/passes`; not stored. */
export const tokenRequestListType: VirtualType = {
  ...virtualType(
    SERVER_API,
    'TokenRequestList',
    `Requests up to ${MAX_PASSES} tokens. Each succeeds or fails by itself.`,
    {
      items: list(PassSchema, { maxItems: MAX_PASSES }),
    },
  ),
  resource: 'passes',
  singular: 'pass',
};

type Pass = Readonly<Static<typeof PassSchema>>;

/** An item of a request. */
export type RequestedPass = Omit<Pass, 'token' | 'expirationTimestamp' | 'error'>;

/** An item of a response, in the order of the request: with a token, or with an error. */
export interface IssuedPass extends Omit<Pass, 'expirationSeconds' | 'tracked'> {
  readonly cluster: string;
  readonly error?: Status;
}

export interface TokenRequestList {
  readonly items?: readonly RequestedPass[];
}
