import { conclude, type ReasonOf } from '../../api/clusters/conditions.ts';
import { createCredentialConditions } from '../../clusters/credential-condition.ts';
import { createClusterIdentity } from '../../clusters/upstream/cluster-identity.ts';
import type { Work } from '../../lib/work-queue.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import type { ReflectorListener } from '../../storage/reflector.ts';
import {
  type CredentialOutcome,
  createForwardToken,
  type ForwardToken,
  type ForwardTokenParts,
} from './forward-token.ts';
import { createOrderAnswers } from './order-token.ts';

interface OpenForwardingOptions extends Omit<ForwardTokenParts, 'answers' | 'identity' | 'report'> {
  readonly writer: ObjectWriter;
  readonly listen: (listener: ReflectorListener<StoredObject>) => void;
  readonly logger: Logger;
  readonly work: Work;
}

const REASONS: Readonly<Record<CredentialOutcome, ReasonOf<'CredentialUsable'>>> = {
  accepted: 'Accepted',
  refused: 'Refused',
  unusable: 'Unusable',
  otherCluster: 'OtherCluster',
};

const messageOf = (outcome: CredentialOutcome, why: string): string =>
  outcome === 'accepted'
    ? 'The cluster accepts the credential of Clusterpass.'
    : `The credential of Clusterpass could not be used: ${why}.`;

/** Forwards token requests, and keeps the condition `CredentialUsable` of the clusters that they go to. */
export function openForwarding(options: OpenForwardingOptions): { forward: ForwardToken; close: () => void } {
  const { logger, listen, reader, upstream } = options;
  const answers = createOrderAnswers(reader);
  listen(answers);
  const conditions = createCredentialConditions(options);
  if (upstream !== undefined) {
    listen(conditions);
    void conditions.checkAll();
  }
  const forward = createForwardToken({
    ...options,
    answers,
    identity: upstream && createClusterIdentity(upstream),
    report: (cluster, outcome, why) => {
      if (outcome !== 'accepted') {
        logger.warn({ cluster: cluster.name, outcome }, `a credential was not accepted: ${why}`);
      }
      conditions.report(cluster, conclude('CredentialUsable', REASONS[outcome], messageOf(outcome, why)));
    },
  });
  return { forward, close: () => conditions.close() };
}
