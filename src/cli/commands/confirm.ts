import { X509Certificate } from 'node:crypto';
import { CONFIRMED_ANNOTATION, endpointDigest, endpointsOf } from '../../api/confirmed-endpoint.ts';
import { CLUSTER_GROUP, controllerOf } from '../../api/kinds/cluster.ts';
import type { Cluster } from '../../client/types.ts';
import { clusterPath, getCluster } from '../clusters.ts';
import { CliError, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { renderTable } from '../output/table.ts';
import { terminalSafe } from '../output/terminal-safe.ts';

/** Prints the credential, the endpoints and the CA of a cluster, and confirms them. */
export const run: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  const cluster = await getCluster(client, name);
  if (controllerOf(cluster) === undefined) {
    throw new CliError(
      `cluster ${JSON.stringify(name)} names no credential in spec.authInfo.controller, or you may not see it`,
    );
  }
  const digest = endpointDigest(cluster, client.productName);
  if (invocation.is('print')) {
    context.out.write(`${digest}\n`);
    return undefined;
  }
  context.out.write(renderTable(factsOf(cluster, client.productName).map((row) => row.map(terminalSafe))));
  const { resourceVersion } = cluster.metadata;
  // With the resourceVersion that was printed: the patch fails if the cluster has changed since.
  const metadata = { resourceVersion, annotations: { [CONFIRMED_ANNOTATION]: digest } };
  await client.request('PATCH', clusterPath(name), {
    query: { fieldManager: 'clusterpass', ...(dryRun ? { dryRun: 'All' } : {}) },
    body: { metadata },
    contentType: 'application/merge-patch+json',
  });
  context.out.write(`cluster.${CLUSTER_GROUP}/${name} confirmed${dryRun ? ' (server dry run)' : ''}\n`);
  return undefined;
};

function factsOf(cluster: Cluster, productName: string): string[][] {
  const { serverEndpoints = [], caBundle = '' } = endpointsOf(cluster, productName);
  const { namespace, name } = controllerOf(cluster) ?? { namespace: '', name: '' };
  return [
    ['Credential:', `${namespace}/${name}`],
    ...serverEndpoints.map(({ serverAddress = '', clientCIDR = '' }, index) => [
      index === 0 ? 'Sent to:' : '',
      `${serverAddress}${clientCIDR === '' ? '' : `, if the server is in ${clientCIDR}`}`,
    ]),
    ...certificatesIn(caBundle).map((text, index) => [index === 0 ? 'CA:' : '', text]),
  ];
}

/** Subject and fingerprint, as `openssl x509 -noout -subject -fingerprint -sha256` prints them. */
function certificatesIn(caBundle: string): string[] {
  const pem = Buffer.from(caBundle, 'base64').toString('latin1');
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g) ?? [];
  return texts.map((text) => {
    const { subject, fingerprint256 } = new X509Certificate(text);
    return `${subject.replaceAll('\n', ', ')} (SHA-256 ${fingerprint256})`;
  });
}
