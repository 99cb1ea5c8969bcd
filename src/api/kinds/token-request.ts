import { type Static, Type } from 'typebox';
import type { ApiObject, BodyType, ObjectMeta, VirtualType } from '../kind.ts';
import type { Status } from '../status.ts';
import {
  flag,
  int64,
  kindSchema,
  list,
  part,
  SERVER_API,
  SHORT,
  struct,
  text,
  texts,
  timestamp,
  virtualType,
} from './meta.ts';

const BoundObjectReferenceSchema = part(
  'BoundObjectReference',
  'The object that the token is bound to. The token is invalid once the object is deleted.',
  {
    kind: text('`Pod` or `Secret`.', SHORT),
    apiVersion: text('The group and version of the object.', SHORT),
    name: text('The name of the object.', SHORT),
    uid: text('The uid of the object.', SHORT),
  },
);

const specFields = {
  // An absent list is refused, an empty list or null means the cluster's own API: so null is kept.
  audiences: Type.Optional(
    Type.Array(Type.String({ goType: 'string' }), {
      goType: '[]string',
      keepNull: true,
      description: 'The intended recipients of the token; empty for the API of the cluster itself.',
    }),
  ),
  expirationSeconds: int64('The requested lifetime in seconds; less may be granted.'),
  boundObjectRef: BoundObjectReferenceSchema,
};

/** Attestations are of Kubernetes 1.37. */
const SpecSchema = part('TokenRequestSpec', 'What is requested.', specFields, { notKept: ['attestations'] });

/** The request and the response of the token subresource; not stored. */
export const tokenRequestType: BodyType = {
  group: 'authentication.k8s.io',
  version: 'v1',
  style: 'builtin',
  ...kindSchema('TokenRequest', 'Requests a short-lived token of a service account, or of the caller.', {
    spec: SpecSchema,
    status: part('TokenRequestStatus', 'What was granted.', {
      token: text('The bearer token.'),
      expirationTimestamp: timestamp('When the token expires.'),
    }),
  }),
};

/** The subresources whose answer is a TokenRequest: `serviceaccounts/token`, and `clusters/userpass` for people. */
export const issuesToken = (subresource: string): boolean => subresource === 'token' || subresource === USERPASS;

export const USERPASS = 'userpass';

/** Annotations of a request, for what Kubernetes has no field for. */
export const TOKEN_ANNOTATIONS = {
  /** Seconds: a request that would be granted less fails. */
  minExpirationSeconds: 'clusterpass.dev/min-expiration-seconds',
  /** `cluster`: warn if the token would not open the API of the cluster. */
  for: 'clusterpass.dev/for',
  /** An address: a request for a cluster that has no such endpoint fails. */
  forServer: 'clusterpass.dev/for-server',
  /** `true`: store an IssuedToken until the token expires. */
  tracked: 'clusterpass.dev/tracked',
  /** For a person: the only group of the person that the pass has. */
  group: 'clusterpass.dev/group',
  /** For `passes/token`: the secret whose hash is `spec.codeChallenge` of the pass. */
  codeVerifier: 'clusterpass.dev/code-verifier',
} as const;

export type BoundObjectReference = Static<typeof BoundObjectReferenceSchema>;

export interface TokenRequest {
  apiVersion: string;
  kind: 'TokenRequest';
  metadata?: ObjectMeta;
  spec?: Omit<Static<typeof SpecSchema>, 'audiences'> & { audiences?: string[] | null };
  status?: { token?: string; expirationTimestamp?: string };
}

/** With what was granted. */
export interface GrantedTokenRequest extends ApiObject {
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObjectRef: BoundObjectReference | null;
  };
  /** The token is `""` for a dry run. */
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

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

type ListedPass = Readonly<Static<typeof PassSchema>>;

/** An item of a request. */
export type RequestedPass = Omit<ListedPass, 'token' | 'expirationTimestamp' | 'error'>;

/** An item of a response, in the order of the request: with a token, or with an error. */
export interface IssuedPass extends Omit<ListedPass, 'expirationSeconds' | 'tracked'> {
  readonly cluster: string;
  readonly error?: Status;
}

export interface TokenRequestList {
  readonly items?: readonly RequestedPass[];
}
