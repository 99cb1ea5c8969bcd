import {
  CONFIRMED_ANNOTATION,
  endpointDigest,
  endpointsInForce,
  writtenEndpoints,
} from '../../api/clusters/confirmed-endpoint.ts';
import { type ApiEndpoints, CLUSTER_GROUP, controllerOf } from '../../api/kinds/cluster-spec.ts';
import type { Cluster } from '../../client/types.ts';
import { clusterPath, getCluster, isPublicView } from '../clusters.ts';
import { CliError, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { noteOf, writeQuery } from '../dry-run.ts';
import { certificatesIn } from '../output/certificates.ts';
import { renderTable } from '../output/table.ts';

/** Prints the endpoints and the CA of a cluster, what they replace and the credential sent there, and confirms them. */
export const run: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const client = await connect(context, invocation);
  const cluster = await getCluster(client, name);
  // A public view hides the change that waits and the credential, and both are part of what is confirmed.
  if (isPublicView(cluster)) {
    throw new CliError(
      `you may not see the whole cluster ${JSON.stringify(name)}, with a change that waits: it takes permission to update it`,
    );
  }
  const digest = endpointDigest(cluster, client.productName);
  if (invocation.is('print')) {
    context.out.write(`${digest}\n`);
    return;
  }
  context.out.write(renderTable(factsOf(cluster, client.productName)));
  const { resourceVersion } = cluster.metadata;
  // With the resourceVersion that was printed: the patch fails if the cluster has changed since.
  const metadata = { resourceVersion, annotations: { [CONFIRMED_ANNOTATION]: digest } };
  await client.request('PATCH', clusterPath(name), {
    query: writeQuery(invocation),
    body: { metadata },
    contentType: 'application/merge-patch+json',
  });
  context.out.write(`cluster.${CLUSTER_GROUP}/${name} confirmed${noteOf(invocation)}\n`);
};

function factsOf(cluster: Cluster, productName: string): string[][] {
  const controller = controllerOf(cluster);
  const written = writtenEndpoints(cluster, productName);
  const inForce = endpointsInForce(cluster, productName);
  return [
    ...(controller === undefined ? [] : [['Credential:', `${controller.namespace}/${controller.name}`]]),
    ...(inForce === written ? [] : endpointRows(inForce, 'Until now:', 'CA until now:')),
    ...endpointRows(written, controller === undefined ? 'Address:' : 'Sent to:', 'CA:'),
  ];
}

/** The endpoints as rows of a table, with the fingerprints of the CAs. */
export function endpointRows(
  { serverEndpoints = [], caBundle = '' }: ApiEndpoints,
  title: string,
  ca: string,
): string[][] {
  const addresses = serverEndpoints.map(
    ({ serverAddress = '', clientCIDR = '' }) =>
      `${serverAddress}${clientCIDR === '' ? '' : `, for clients in ${clientCIDR}`}`,
  );
  const titled = (name: string, texts: readonly string[]): string[][] =>
    (texts.length === 0 ? ['<none>'] : texts).map((text, index) => [index === 0 ? name : '', text]);
  return [...titled(title, addresses), ...titled(ca, certificatesIn(caBundle))];
}
