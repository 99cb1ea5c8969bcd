import { Type } from 'typebox';
import { bodySchema } from '../codec/shape.ts';
import type { BodyType, ObjectMeta } from '../kind.ts';
import { int64, text, timestamp, typeMeta } from './meta.ts';

const BoundObjectReferenceSchema = Type.Object(
  {
    kind: text('`Pod` or `Secret`.'),
    apiVersion: text('The group and version of the object.'),
    name: text('The name of the object.'),
    uid: text('The uid of the object.'),
  },
  { goType: 'BoundObjectReference', description: 'The object that the token lives and dies with.' },
);

/** The request and the answer of the token operation; nothing of it is stored. */
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
              // An absent list is refused, an empty one or null means the cluster's own API: the decoder keeps the null.
              audiences: Type.Optional(
                Type.Array(Type.String({ goType: 'string' }), {
                  goType: '[]string',
                  keepNull: true,
                  description: 'Who the token is for; empty for the API of the cluster itself.',
                }),
              ),
              expirationSeconds: int64('How long the token is wanted for; less may be granted.'),
              boundObjectRef: Type.Optional(BoundObjectReferenceSchema),
            },
            { goType: 'TokenRequestSpec', description: 'What is asked for.' },
          ),
        ),
        status: Type.Optional(
          Type.Object(
            { token: text('The bearer token.'), expirationTimestamp: timestamp('When the token ends.') },
            { goType: 'TokenRequestStatus', description: 'What was granted.' },
          ),
        ),
      },
      { goType: 'TokenRequest', description: 'Asks for a short-lived token of a service account.' },
    ),
  ),
};

/** What a request can say beyond Kubernetes' own fields. */
export const TOKEN_ANNOTATIONS = {
  /** Seconds: fail rather than grant less. */
  minExpirationSeconds: 'clusterpass.dev/min-expiration-seconds',
  /** `cluster`: warn if the token would not open the API of the cluster. */
  for: 'clusterpass.dev/for',
  /** `true`: keep a record that lists can show, until the token ends. */
  tracked: 'clusterpass.dev/tracked',
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
