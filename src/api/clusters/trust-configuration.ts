import { Document } from 'yaml';
import { REQUESTED_BY } from '../caller.ts';
import { PEOPLE_PREFIX } from '../pass-audience.ts';

export interface TrustOptions {
  readonly cluster: string;
  readonly issuer: string;
  readonly audience: string;
  /** PEM. */
  readonly certificateAuthority: string | undefined;
  /** The reason for a comment, if there is no CA. */
  readonly reasonForNoCa: string;
  /** Namespaces that are refused otherwise: `REFUSED_NAMESPACES`. */
  readonly allowedNamespaces: readonly string[];
  /** Adds an entry for passes of people: their issuer, which is also the audience. */
  readonly peopleIssuer?: string | undefined;
}

/** The private claims in CEL. A key with a dot needs the index syntax. */
const CLAIMS = 'claims["kubernetes.io"]';

const USERNAME = `"system:serviceaccount:" + ${CLAIMS}.namespace + ":" + ${CLAIMS}.serviceaccount.name`;

/** Empty for a token that is not bound to a pod: an error in the expression would refuse the token. */
const ofPod = (member: string): string => `"pod" in ${CLAIMS} ? ${CLAIMS}.pod.${member} : ""`;

/** The newest first. Empty texts in a list are dropped, so a token without the claim has no such key. */
const REQUESTERS =
  '[claims.?act.?sub.orValue(""), claims.?act.?act.?sub.orValue(""), claims.?act.?act.?act.?sub.orValue("")]';

const commentBefore = (cluster: string): string =>
  ` With this file, the API server of the cluster ${cluster} accepts tokens that Clusterpass issues for its service accounts.
 Pass it to kube-apiserver (1.34 or newer) as --authentication-config. If that file exists, add the entry under jwt to it.`;

/** Follows `commentBefore`. */
const PEOPLE_COMMENT = `
 The second entry is for people: a pass for carl authenticates as the prefix of its username, followed by carl.`;

/** Their accounts control the cluster: without them an operator of Clusterpass does not. */
export const REFUSED_NAMESPACES = ['kube-system'];

const refusedNamespaces = (allowed: readonly string[]): object => {
  const refused = REFUSED_NAMESPACES.filter((namespace) => !allowed.includes(namespace));
  const rules = refused.map((namespace) => ({
    expression: `!user.username.startsWith("system:serviceaccount:${namespace}:")`,
    message: `passes for service accounts in ${namespace} are refused`,
  }));
  return rules.length === 0 ? {} : { userValidationRules: rules };
};

/**
 * An entry for people. The prefix keeps them apart from users that the cluster has from elsewhere. The rules guard
 * against an edited prefix: kube-apiserver accepts names of the system from any issuer.
 */
const peopleEntry = (issuer: string, certificateAuthority: TrustOptions['certificateAuthority']): object => ({
  issuer: issuerEntry(issuer, issuer, certificateAuthority),
  claimMappings: {
    username: { claim: 'sub', prefix: PEOPLE_PREFIX },
    groups: { claim: 'groups', prefix: PEOPLE_PREFIX },
    extra: [{ key: REQUESTED_BY, valueExpression: 'claims.?act.?sub.orValue("")' }],
  },
  userValidationRules: [
    { expression: '!user.username.startsWith("system:")', message: 'the name of a person must not start with system:' },
    {
      expression: 'user.groups.all(group, !group.startsWith("system:"))',
      message: 'the groups of a person must not start with system:',
    },
  ],
});

const issuerEntry = (url: string, audience: string, certificateAuthority: string | undefined): object => ({
  url,
  ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
  audiences: [audience],
  audienceMatchPolicy: 'MatchAny',
});

/**
 * An AuthenticationConfiguration of kube-apiserver. A token gets the user name, the groups and the UID that a token of
 * the cluster itself has for the same account. Keys of `extra` are below clusterpass.dev, because kubernetes.io is
 * reserved.
 */
export function authenticationConfiguration(options: TrustOptions): string {
  const { cluster, issuer, audience, certificateAuthority, reasonForNoCa, allowedNamespaces, peopleIssuer } = options;
  const document = new Document({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: issuerEntry(issuer, audience, certificateAuthority),
        claimValidationRules: [
          { expression: `claims.sub == ${USERNAME}`, message: 'sub must name the service account of the token' },
        ],
        claimMappings: {
          username: { expression: USERNAME },
          groups: {
            expression: `["system:serviceaccounts", "system:serviceaccounts:" + ${CLAIMS}.namespace]`,
          },
          uid: { expression: `${CLAIMS}.serviceaccount.uid` },
          extra: [
            { key: 'clusterpass.dev/pod-name', valueExpression: ofPod('name') },
            { key: 'clusterpass.dev/pod-uid', valueExpression: ofPod('uid') },
            { key: REQUESTED_BY, valueExpression: REQUESTERS },
          ],
        },
        ...refusedNamespaces(allowedNamespaces),
      },
      ...(peopleIssuer === undefined ? [] : [peopleEntry(peopleIssuer, certificateAuthority)]),
    ],
  });
  const note = certificateAuthority === undefined ? `\n No certificateAuthority: ${reasonForNoCa}.` : '';
  document.commentBefore = `${commentBefore(cluster)}${peopleIssuer === undefined ? '' : PEOPLE_COMMENT}${note}`;
  return document.toString({ indentSeq: false, lineWidth: 0 });
}
