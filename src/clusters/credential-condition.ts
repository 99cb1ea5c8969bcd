import type { Catalog } from '../api/catalog.ts';
import {
  type Conclusion,
  conclude,
  conditionOf as conditionIn,
  type ReasonOf,
  withCondition,
} from '../api/clusters/conditions.ts';
import { isConfirmed } from '../api/clusters/confirmed-endpoint.ts';
import { type ApiObject, kindPrefix } from '../api/kind.ts';
import { type ClusterCondition, controllerOf, statusOf } from '../api/kinds/cluster-spec.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { Work } from '../lib/work-queue.ts';
import { createKeyedWriter, statusUpdate } from '../objects/keyed-writer.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { Logger } from '../observability/logger.ts';

interface CredentialConditionParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'update'>;
  readonly productName: string;
  readonly now: () => number;
  readonly work: Work;
  readonly logger: Logger;
}

/**
 * Keeps the condition up to date with the object (is the credential confirmed for this address?) and with the requests
 * that used the credential. Every replica does this: the second one finds nothing to change.
 */
export function createCredentialConditions(parts: CredentialConditionParts) {
  const { catalog, reader, writer, productName, now, work, logger } = parts;
  const statuses = createKeyedWriter(statusUpdate(writer, catalog.clusters), (err, cluster) =>
    logger.warn({ err, cluster }, 'the condition of a cluster was not written'),
  );
  let isClosed = false;

  /**
   * Called after each request with the credential. Writes only when the condition changes. Everyone who may read the
   * cluster sees the message.
   */
  function report(cluster: StoredObject, finding: Conclusion): void {
    const object = cluster.object();
    const { status, reason, message } = conditionOf(object) ?? {};
    if (status === finding.status && reason === finding.reason && message === finding.message) return;
    const { generation } = object.metadata;
    // A finding about an older generation says nothing about this one.
    statuses.put(cluster.name, cluster.uid, (current) =>
      concluded(current, current.metadata.generation === generation ? finding : undefined),
    );
  }

  function onEvent({ after }: { readonly after: StoredObject | undefined }): void {
    if (after?.kind === catalog.clusters) check(after);
  }

  function onReset(): void {
    void checkAll();
  }

  /** After a start, or when events may have been missed. */
  async function checkAll(): Promise<void> {
    // A copy, because the cache may change between two turns. What changes is checked by itself.
    for (const cluster of reader.cache(catalog.clusters).snapshot.scan(kindPrefix(catalog.clusters))) {
      if (work.isUsedUp) await work.turn();
      if (isClosed) return;
      check(cluster);
    }
  }

  function close(): void {
    isClosed = true;
    void statuses.stop();
  }

  function check(cluster: StoredObject): void {
    const object = cluster.object();
    const present = conditionOf(object);
    if (conclusionFor(object, present, productName)?.reason === present?.reason) return;
    // A finding that waits looks at the object as well.
    if (statuses.has(cluster.name)) return;
    statuses.put(cluster.name, cluster.uid, (current) => concluded(current, undefined));
  }

  /** The finding counts while the credential is confirmed. */
  function concluded(current: ApiObject, finding: Conclusion | undefined): ApiObject {
    const conclusion = conclusionFor(current, conditionOf(current), productName);
    const isUsable = conclusion !== undefined && conclusion.reason !== NOT_CONFIRMED;
    const shown = isUsable && finding !== undefined ? finding : conclusion;
    const status = statusOf(current);
    const next = withCondition(status, 'CredentialUsable', shown, toTimestamp(now()));
    return next === status ? current : { ...current, status: next };
  }

  return { report, onEvent, onReset, checkAll, close };
}

const NOT_CONFIRMED = 'NotConfirmed' satisfies ReasonOf<'CredentialUsable'>;

const conditionOf = (object: ApiObject): ClusterCondition | undefined =>
  conditionIn(statusOf(object), 'CredentialUsable');

/** What follows from the object alone; an earlier finding stays as long as the confirmation holds. */
function conclusionFor(
  object: ApiObject,
  present: ClusterCondition | undefined,
  productName: string,
): Conclusion | undefined {
  if (controllerOf(object) === undefined) return undefined;
  if (!isConfirmed(object, productName)) {
    return conclude(
      'CredentialUsable',
      NOT_CONFIRMED,
      'No administrator has confirmed that the credential of this cluster may be sent to its present address and ' +
        `checked against its present caBundle. Check both, then run: clusterpass confirm ${object.metadata.name}`,
    );
  }
  if (present !== undefined && present.reason !== NOT_CONFIRMED) {
    const { status = 'Unknown', reason = '', message = '' } = present;
    return { status, reason, message };
  }
  return conclude('CredentialUsable', 'NotUsedYet', 'The credential is confirmed and was not used yet.');
}
