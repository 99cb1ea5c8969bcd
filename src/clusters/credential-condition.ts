import type { Catalog } from '../api/catalog.ts';
import { isConfirmed } from '../api/clusters/confirmed-endpoint.ts';
import type { ApiObject } from '../api/kind.ts';
import {
  type Conclusion,
  CREDENTIAL_USABLE,
  conditionOf as conditionIn,
  withCondition,
} from '../api/kinds/cluster-conditions.ts';
import { type ClusterCondition, type ClusterStatus, controllerOf } from '../api/kinds/cluster-spec.ts';
import { fleetKey, kindPrefix } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { Logger } from '../observability/logger.ts';
import type { ReflectorListener } from '../storage/reflector.ts';

/** The outcome of a request with the credential. */
export interface CredentialFinding {
  readonly status: 'True' | 'False';
  readonly reason: 'Accepted' | 'Refused' | 'Unusable';
  /** Visible to everyone who may read the cluster. */
  readonly message: string;
}

interface PendingWrite {
  /** Undefined: what follows from the object. */
  readonly finding: CredentialFinding | undefined;
  readonly uid: string;
  /** That the finding is about. */
  readonly generation: number;
}

interface CredentialConditionsOptions {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'update'>;
  readonly productName: string;
  readonly now: () => number;
  readonly logger: Logger;
}

const CLUSTERS_PER_TICK = 100;

/**
 * Keeps the condition up to date with the object (is the credential confirmed for this address?) and with the requests
 * that used the credential. Every replica does this: the second one finds nothing to change.
 */
export class CredentialConditions implements ReflectorListener<StoredObject> {
  readonly #options: CredentialConditionsOptions;
  /** The next write of each cluster. There is one write at a time for each cluster. */
  readonly #pending = new Map<string, PendingWrite>();
  readonly #busy = new Set<string>();
  #closed = false;

  constructor(options: CredentialConditionsOptions) {
    this.#options = options;
  }

  /** Called after each request with the credential. Writes only when the condition changes. */
  report(cluster: StoredObject, finding: CredentialFinding): void {
    const object = cluster.object();
    const { status, reason, message } = conditionOf(object) ?? {};
    if (status === finding.status && reason === finding.reason && message === finding.message) return;
    this.#enqueue(cluster.name, { finding, uid: cluster.uid, generation: object.metadata.generation ?? 0 });
  }

  onEvent({ after }: { readonly after: StoredObject | undefined }): void {
    if (after?.kind === this.#options.catalog.clusters) this.#check(after);
  }

  onReset(): void {
    void this.checkAll();
  }

  /** After a start, or when events may have been missed. */
  async checkAll(): Promise<void> {
    const { reader, catalog } = this.#options;
    // Page by page, because the cache may change between two ticks.
    for (let last = ''; !this.#closed; ) {
      const page = [
        ...reader.cache(catalog.clusters).current.scan(kindPrefix(catalog.clusters), last).take(CLUSTERS_PER_TICK),
      ];
      for (const cluster of page) this.#check(cluster);
      last = page.at(-1)?.key ?? '';
      if (page.length < CLUSTERS_PER_TICK) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  close(): void {
    this.#closed = true;
    this.#pending.clear();
  }

  #check(cluster: StoredObject): void {
    const object = cluster.object();
    const present = conditionOf(object);
    if (conclusionFor(object, present, this.#options.productName)?.reason === present?.reason) return;
    this.#enqueue(cluster.name, { finding: undefined, uid: cluster.uid, generation: 0 });
  }

  #enqueue(name: string, entry: PendingWrite): void {
    if (this.#closed) return;
    const waiting = this.#pending.get(name);
    this.#pending.set(name, entry.finding === undefined && waiting !== undefined ? waiting : entry);
    if (!this.#busy.has(name)) void this.#drain(name);
  }

  async #drain(name: string): Promise<void> {
    this.#busy.add(name);
    for (let entry = this.#pending.get(name); entry !== undefined; entry = this.#pending.get(name)) {
      this.#pending.delete(name);
      try {
        await this.#write(name, entry);
      } catch (error) {
        // Deleted, or changed too often: the next event or the next request checks it again.
        if (!(error instanceof ApiError && [404, 409].includes(error.status.code)) && !this.#closed) {
          this.#options.logger.warn({ err: error, cluster: name }, 'the condition of a cluster was not written');
        }
      }
    }
    this.#busy.delete(name);
  }

  async #write(name: string, { finding, uid, generation }: PendingWrite): Promise<void> {
    const { catalog, writer, productName, now } = this.#options;
    await writer.update(
      catalog.clusters,
      fleetKey(name),
      (current) => {
        const conclusion = conclusionFor(current, conditionOf(current), productName);
        // A finding about an older generation says nothing about this one.
        const holds = finding !== undefined && current.metadata.generation === generation;
        const isUsable = conclusion !== undefined && conclusion.reason !== NOT_CONFIRMED;
        const status = (current.status ?? {}) as ClusterStatus;
        const shown = holds && isUsable ? finding : conclusion;
        const next = withCondition(status, CREDENTIAL_USABLE, shown, toTimestamp(now()));
        return next === status ? current : { ...current, status: next };
      },
      { dryRun: false, part: 'status', preconditions: { uid } },
    );
  }
}

const NOT_CONFIRMED = 'NotConfirmed';

const conditionOf = (object: ApiObject): ClusterCondition | undefined =>
  conditionIn((object.status ?? {}) as ClusterStatus, CREDENTIAL_USABLE);

/** What follows from the object alone; an earlier finding stays as long as the confirmation holds. */
function conclusionFor(
  object: ApiObject,
  present: ClusterCondition | undefined,
  productName: string,
): Conclusion | undefined {
  if (controllerOf(object) === undefined) return undefined;
  if (!isConfirmed(object, productName)) {
    return {
      status: 'False',
      reason: NOT_CONFIRMED,
      message:
        'No administrator has confirmed that the credential of this cluster may be sent to its present address and ' +
        `checked against its present caBundle. Check both, then run: clusterpass confirm ${object.metadata.name}`,
    };
  }
  if (present !== undefined && present.reason !== NOT_CONFIRMED) {
    const { status = 'Unknown', reason = '', message = '' } = present;
    return { status, reason, message };
  }
  return { status: 'Unknown', reason: 'NotUsedYet', message: 'The credential is confirmed and was not used yet.' };
}
