import { type Static, Type } from 'typebox';
import type { ApiObject, BodyType, ObjectMeta } from '../kind.ts';
import { int64, kindSchema, part, SHORT, struct, text, timestamp } from './meta.ts';

const BoundObjectReferenceSchema = struct(
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
  boundObjectRef: Type.Optional(BoundObjectReferenceSchema),
};

/** Attestations are of Kubernetes 1.37. */
const SpecSchema = struct('TokenRequestSpec', 'What is requested.', specFields, { notKept: ['attestations'] });

/** The request and the response of the token subresource; not stored. */
export const tokenRequestType: BodyType = {
  group: 'authentication.k8s.io',
  version: 'v1',
  style: 'builtin',
  ...kindSchema('TokenRequest', 'Requests a short-lived token of a service account, or of the caller.', {
    spec: Type.Optional(SpecSchema),
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
