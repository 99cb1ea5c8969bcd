import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import type { VirtualType } from '../kind.ts';
import type { Status } from '../status.ts';
import {
  CLUSTERPASS_GROUP,
  CLUSTERPASS_VERSION,
  flag,
  int64,
  SHORT,
  text,
  texts,
  timestamp,
  typeMeta,
} from './meta.ts';

/** So many that a person or a pipeline that reaches a whole environment needs few requests. */
const MAX_PASSES = 500;

/** The request and the response of `/auth/v1/passes`; not stored. */
export const tokenRequestListType: VirtualType = {
  group: CLUSTERPASS_GROUP,
  version: CLUSTERPASS_VERSION,
  kind: 'TokenRequestList',
  style: 'builtin',
  resource: 'passes',
  singular: 'pass',
  shortNames: [],
  namespaced: false,
  ...bodySchema(
    Type.Object(
      {
        ...typeMeta,
        items: Type.Optional(
          Type.Array(
            Type.Object(
              {
                cluster: text('The cluster.', SHORT),
                namespace: text('The namespace of the service account.', SHORT),
                serviceAccount: text('The name of the service account.', SHORT),
                userpass: flag('A pass for the caller itself, instead of a service account.'),
                audiences: texts('The intended recipients; empty for the API of the cluster itself.'),
                expirationSeconds: int64('The requested lifetime in seconds; less may be granted.'),
                tracked: flag('Store an IssuedToken until the token expires.'),
                token: text('The bearer token. Absent when it was not issued.'),
                expirationTimestamp: timestamp('When the token expires.'),
                error: Type.Optional(
                  Type.Unknown({ goType: 'Status', description: 'Why the token was not issued: a v1 Status.' }),
                ),
              },
              {
                goType: 'IssuedPass',
                description: 'A token of one service account, or for the caller, in one cluster.',
              },
            ),
            { goType: '[]IssuedPass', maxItems: MAX_PASSES },
          ),
        ),
      },
      {
        goType: 'TokenRequestList',
        description: `Requests up to ${MAX_PASSES} tokens. Each succeeds or fails by itself.`,
      },
    ),
  ),
};

/** An item of a request. */
export interface RequestedPass {
  readonly cluster?: string;
  readonly namespace?: string;
  readonly serviceAccount?: string;
  /** A pass for the caller itself: without a service account and audiences. */
  readonly userpass?: boolean;
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  readonly tracked?: boolean;
}

/** An item of a response, in the order of the request: with a token, or with an error. */
export interface IssuedPass {
  readonly cluster: string;
  readonly namespace?: string;
  readonly serviceAccount?: string;
  readonly userpass?: boolean;
  readonly audiences?: readonly string[];
  readonly token?: string;
  readonly expirationTimestamp?: string;
  readonly error?: Status;
}

export interface TokenRequestList {
  readonly items?: readonly RequestedPass[];
}
