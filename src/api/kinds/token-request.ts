import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import type { BodyType, ObjectMeta } from '../kind.ts';
import { int64, SHORT, text, timestamp, typeMeta } from './meta.ts';

const BoundObjectReferenceSchema = Type.Object(
  {
    kind: text('`Pod` or `Secret`.', SHORT),
    apiVersion: text('The group and version of the object.', SHORT),
    name: text('The name of the object.', SHORT),
    uid: text('The uid of the object.', SHORT),
  },
  {
    goType: 'BoundObjectReference',
    description: 'The object that the token is bound to. The token is invalid once the object is deleted.',
  },
);

/** The request and the response of the token subresource; not stored. */
export const tokenRequestType: BodyType = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  style: 'builtin',
  ...bodySchema(
    Type.Object(
      {
        ...typeMeta,
        spec: Type.Optional(
          Type.Object(
            {
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
            },
            { goType: 'TokenRequestSpec', description: 'What is requested.' },
          ),
        ),
        status: Type.Optional(
          Type.Object(
            { token: text('The bearer token.'), expirationTimestamp: timestamp('When the token expires.') },
            { goType: 'TokenRequestStatus', description: 'What was granted.' },
          ),
        ),
      },
      { goType: 'TokenRequest', description: 'Requests a short-lived token of a service account, or of the caller.' },
    ),
  ),
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
  /** For `passes/token`: the secret whose hash is `spec.codeChallenge` of the pass. */
  codeVerifier: 'clusterpass.dev/code-verifier',
} as const;

export interface BoundObjectReference {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface TokenRequest {
  apiVersion: string;
  kind: 'TokenRequest';
  metadata?: ObjectMeta;
  spec?: {
    audiences?: string[] | null;
    expirationSeconds?: number;
    boundObjectRef?: BoundObjectReference;
  };
  status?: { token?: string; expirationTimestamp?: string };
}
