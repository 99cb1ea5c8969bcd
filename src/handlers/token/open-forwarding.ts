import type { Catalog } from '../../api/catalog.ts';
import { controllerOf } from '../../api/confirmed-endpoint.ts';
import { CredentialConditions, type CredentialFinding } from '../../clusters/credential-condition.ts';
import { describeCluster } from '../../clusters/upstream/upstream-cluster.ts';
import type { Upstream, UpstreamCluster } from '../../clusters/upstream/upstream-contract.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import type { ReflectorListener } from '../../storage/reflector.ts';
import { type CredentialOutcome, createForwarding, type Forwarding } from './forward-token.ts';

export interface OpenForwardingOptions {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly upstream: Upstream;
  readonly listen: (listener: ReflectorListener<StoredObject>) => void;
  readonly productName: string;
  readonly maxExpirationSeconds: number;
  readonly now: () => number;
  readonly logger: Logger;
}

const FINDINGS: Readonly<Record<CredentialOutcome, Omit<CredentialFinding, 'message'>>> = {
  accepted: { status: 'True', reason: 'Accepted' },
  refused: { status: 'False', reason: 'Refused' },
  unusable: { status: 'False', reason: 'Unusable' },
};

const messageOf = (outcome: CredentialOutcome, why: string): string =>
  outcome === 'accepted'
    ? 'The cluster accepts the credential of the desk.'
    : `The credential of the desk could not be used: ${why}.`;

/** Clusters that issue for themselves: the forwarding of their token requests, and the condition that tells how it goes. */
export function openForwarding(options: OpenForwardingOptions): { forward: Forwarding; close: () => void } {
  const { productName, logger } = options;
  const conditions = new CredentialConditions(options);
  options.listen(conditions);
  void conditions.lookAtAll();
  // An entry of the cache is one state of a cluster, so this is worked out once for each.
  const known = new WeakMap<StoredObject, { readonly cluster: UpstreamCluster | undefined }>();
  const issuingCluster = (stored: StoredObject): UpstreamCluster | undefined => {
    const before = known.get(stored);
    if (before !== undefined) return before.cluster;
    const object = stored.object();
    const cluster = controllerOf(object) === undefined ? undefined : describeCluster(object, productName);
    known.set(stored, { cluster });
    return cluster;
  };
  const forward = createForwarding({
    ...options,
    issuingCluster,
    report: (cluster, outcome, why) => {
      if (outcome !== 'accepted')
        logger.warn({ cluster: cluster.name, outcome }, `a credential was not accepted: ${why}`);
      conditions.report(cluster, { ...FINDINGS[outcome], message: messageOf(outcome, why) });
    },
  });
  return { forward, close: () => conditions.close() };
}
