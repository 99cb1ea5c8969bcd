import { Document, stringify } from 'yaml';
import { TOKEN_CHECKS_ANNOTATION } from '../api/clusters/annotations.ts';
import type { TrustOptions } from '../api/clusters/trust-configuration.ts';
import { clusterFields, kubeconfigOf } from '../api/kubeconfig.ts';
import { WEBHOOK_SECONDS } from '../api/pass-audience.ts';

interface WebhookOptions extends Pick<TrustOptions, 'cluster' | 'issuer' | 'certificateAuthority'> {
  /** Of the account that reviews. */
  readonly token: string;
}

/** The files with which an API server asks Clusterpass for each pass, by name. */
export type WebhookFiles = Readonly<
  Record<'webhook.yaml' | 'tokens.csv' | 'clusterpass.yaml' | 'cluster.yaml', string>
>;

const RBAC = 'rbac.authorization.k8s.io';
const ROLE = 'clusterpass-webhook';

/** Users of this prefix are not of any identity provider. */
const userOf = (cluster: string): string => `webhook:${cluster}`;

export function webhookFiles({ cluster, issuer, certificateAuthority, token }: WebhookOptions): WebhookFiles {
  const user = userOf(cluster);
  return {
    'webhook.yaml': commented(
      ` For the API server of the cluster ${cluster}: --authentication-token-webhook-config-file. It contains a secret.`,
      kubeconfigOf([
        {
          name: 'clusterpass',
          userName: user,
          cluster: clusterFields(
            `${issuer}/apis/authentication.k8s.io/v1/tokenreviews/passes`,
            certificateAuthority && Buffer.from(certificateAuthority).toString('base64'),
          ),
          user: { token },
        },
      ]),
    ),
    'tokens.csv': `${token},${user},${user}\n`,
    'clusterpass.yaml': [
      {
        apiVersion: `${RBAC}/v1`,
        kind: 'ClusterRole',
        metadata: { name: ROLE },
        rules: [
          {
            apiGroups: ['authentication.k8s.io'],
            resources: ['tokenreviews'],
            resourceNames: ['passes'],
            verbs: ['create'],
          },
        ],
      },
      {
        apiVersion: 'clusterpass.dev/v1alpha1',
        kind: 'FleetRoleBinding',
        metadata: { name: `${ROLE}-${cluster}` },
        spec: {
          subjects: [{ kind: 'User', name: user }],
          roleRef: { kind: 'ClusterRole', name: ROLE },
          clusters: { names: [cluster] },
        },
      },
    ]
      .map((object) => stringify(object, { indentSeq: false }))
      .join('---\n'),
    'cluster.yaml': commented(' Tells users of this cluster that a revocation reaches it.', {
      apiVersion: 'clusterregistry.k8s.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: cluster, annotations: { [TOKEN_CHECKS_ANNOTATION]: 'webhook' } },
    }),
  };
}

function commented(comment: string, value: object): string {
  const document = new Document(value);
  document.commentBefore = comment;
  return document.toString({ indentSeq: false, lineWidth: 0 });
}

/** What remains to be done, in this order: the API server must not ask before it is allowed to. */
export const webhookSteps = (
  { cluster, issuer, peopleIssuer }: Pick<TrustOptions, 'cluster' | 'issuer' | 'peopleIssuer'>,
  folder: string,
): string => {
  const issuers = [issuer, ...(peopleIssuer === undefined ? [] : [peopleIssuer])];
  return `Wrote ${folder}/webhook.yaml, tokens.csv, clusterpass.yaml and cluster.yaml. Then:

1. Move the line of ${folder}/tokens.csv to a file of --token-auth-file of Clusterpass. The flag can be repeated: a
   file for such API servers alone keeps them apart from people.
2. clusterpass kubectl apply -f ${folder}/clusterpass.yaml
3. Copy webhook.yaml to the machines of the API server of ${cluster} (mode 0600), and start it with

     --authentication-token-webhook-config-file=/etc/kubernetes/clusterpass/webhook.yaml
     --authentication-token-webhook-version=v1
     --authentication-token-webhook-cache-ttl=5s
     --api-audiences=AUDIENCES,${issuers.join()}

   AUDIENCES are those that it has; by default its --service-account-issuer.
   Remove ${issuers.map((each) => `the entry of ${each}`).join(' and\n   ')} from its --authentication-config:
   an API server with such an entry verifies passes by itself, and does not ask.
4. clusterpass kubectl apply --server-side -f ${folder}/cluster.yaml

${cluster} then refuses a revoked pass within about ${WEBHOOK_SECONDS} seconds. While it cannot reach Clusterpass, it refuses every pass.
`;
};
