import { X509Certificate } from 'node:crypto';
import { CONFIRMED_ANNOTATION, endpointDigest, endpointsOf } from '../api/confirmed-endpoint.ts';
import { CLUSTER_GROUP, controllerOf } from '../api/kinds/cluster.ts';
import { FULL_CLUSTERS } from '../client/list-clusters.ts';
import type { Cluster } from '../client/types.ts';
import { CliError, type Run } from './command.ts';
import { connect } from './connection.ts';
import { isDryRun } from './dry-run.ts';
import { printable } from './escape-unprintable.ts';
import { getCluster } from './get-clusters.ts';
import { renderTable } from './table.ts';

/** Confirms that a cluster's credential may be sent to its present address, after showing both. */
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
  const value = endpointDigest(cluster, client.productName);
  if (invocation.is('print')) {
    context.out.write(`${value}\n`);
    return undefined;
  }
  context.out.write(renderTable(factsOf(cluster, client.productName).map((row) => row.map(printable))));
  const { resourceVersion } = cluster.metadata;
  // With the version that was shown: what changed since was not looked at.
  const metadata = { resourceVersion, annotations: { [CONFIRMED_ANNOTATION]: value } };
  await client.request('PATCH', `${FULL_CLUSTERS}/${encodeURIComponent(name)}`, {
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
      `${serverAddress}${clientCIDR === '' ? '' : `, if the desk is in ${clientCIDR}`}`,
    ]),
    ...authorities(caBundle).map((text, index) => [index === 0 ? 'Vouched for by:' : '', text]),
  ];
}

/** As `openssl x509 -noout -subject -fingerprint -sha256` shows them. */
function authorities(caBundle: string): string[] {
  const pem = Buffer.from(caBundle, 'base64').toString('latin1');
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g) ?? [];
  return texts.map((text) => {
    const { subject, fingerprint256 } = new X509Certificate(text);
    return `${subject.replaceAll('\n', ', ')} (SHA-256 ${fingerprint256})`;
  });
}
