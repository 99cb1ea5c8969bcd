import { Document } from 'yaml';

export interface TrustFacts {
  readonly cluster: string;
  readonly issuer: string;
  readonly audience: string;
  /** PEM. */
  readonly certificateAuthority: string | undefined;
  /** Why there is no authority. */
  readonly without: string;
}

/** Our claims, as CEL names them: the key has a dot in it. */
const OURS = 'claims["kubernetes.io"]';

const USERNAME = `"system:serviceaccount:" + ${OURS}.namespace + ":" + ${OURS}.serviceaccount.name`;

/** Nothing, rather than an error, where a token is not bound to a pod. */
const ofPod = (member: string): string => `"pod" in ${OURS} ? ${OURS}.pod.${member} : ""`;

const HEAD = ({
  cluster,
}: TrustFacts): string => ` Makes the API server of the cluster ${cluster} accept the tokens that Clusterpass issues for its service accounts.
 Give this file to kube-apiserver (1.34 or newer) as --authentication-config. If it has one, add the entry under jwt.`;

const TAIL = ` To keep Clusterpass from speaking for the accounts of the system, add to this entry:
   userValidationRules:
   - expression: '!user.username.startsWith("system:serviceaccount:kube-system:")'
     message: accounts in kube-system are not for Clusterpass`;

/**
 * Structured authentication of kube-apiserver. A user is who the account would be with a token of the cluster itself.
 * Keys of `extra` below kubernetes.io are reserved, so ours have a domain of their own.
 */
export function authenticationConfiguration(facts: TrustFacts): string {
  const { issuer, audience, certificateAuthority, without } = facts;
  const document = new Document({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {
          url: issuer,
          ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
          audiences: [audience],
          audienceMatchPolicy: 'MatchAny',
        },
        claimValidationRules: [
          { expression: `claims.sub == ${USERNAME}`, message: 'sub must name the service account of the token' },
        ],
        claimMappings: {
          username: { expression: USERNAME },
          groups: {
            expression: `["system:serviceaccounts", "system:serviceaccounts:" + ${OURS}.namespace]`,
          },
          uid: { expression: `${OURS}.serviceaccount.uid` },
          extra: [
            { key: 'clusterpass.dev/pod-name', valueExpression: ofPod('name') },
            { key: 'clusterpass.dev/pod-uid', valueExpression: ofPod('uid') },
          ],
        },
      },
    ],
  });
  document.commentBefore =
    certificateAuthority === undefined ? `${HEAD(facts)}\n No certificateAuthority: ${without}.` : HEAD(facts);
  document.comment = TAIL;
  return document.toString({ indentSeq: false, lineWidth: 0 });
}
