import type { Catalog } from '../api/catalog.ts';
import { controllerOf, isConfirmed } from '../api/confirmed-endpoint.ts';
import type { ApiObject } from '../api/kind.ts';
import type { ClusterCondition, ClusterStatus } from '../api/kinds/cluster.ts';
import { kindPrefix } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { Logger } from '../observability/logger.ts';
import type { ReflectorListener } from '../storage/reflector.ts';

/** The condition that tells whether the desk can use the credential that a cluster names. */
export const CREDENTIAL_USABLE = 'CredentialUsable';

/** What a use of the credential has shown. */
export interface CredentialFinding {
  readonly status: 'True' | 'False';
  readonly reason: 'Accepted' | 'Refused' | 'Unusable';
  /** Everybody who may read the cluster can read it. */
  readonly message: string;
}

export interface CredentialConditionsOptions {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'update'>;
  readonly productName: string;
  readonly now: () => number;
  readonly logger: Logger;
}

type Standing = Pick<ClusterCondition, 'status' | 'reason' | 'message'>;

/** Clusters that are looked at in one turn of the event loop. */
const AT_ONCE = 100;

/**
 * Keeps the condition in step with what the objects say (is the credential confirmed for this address?) and with
 * what its use has shown. Every replica does: whoever comes second finds nothing to change.
 */
export class CredentialConditions implements ReflectorListener<StoredObject> {
  readonly #options: CredentialConditionsOptions;
  /** One write at a time for each cluster; what is found meanwhile is written after it. */
  readonly #pending = new Map<string, { finding: CredentialFinding | undefined; uid: string; generation: number }>();
  readonly #busy = new Set<string>();
  #closed = false;

  constructor(options: CredentialConditionsOptions) {
    this.#options = options;
  }

  /** Told after a request with the credential. Costs nothing when it is what the condition says already. */
  report(cluster: StoredObject, finding: CredentialFinding): void {
    const object = cluster.object();
    const { status, reason, message } = conditionOf(object) ?? {};
    if (status === finding.status && reason === finding.reason && message === finding.message) return;
    this.#enqueue(cluster.name, { finding, uid: cluster.uid, generation: object.metadata.generation ?? 0 });
  }

  onEvent({ after }: { readonly after: StoredObject | undefined }): void {
    if (after?.kind === this.#options.catalog.clusters) this.#look(after);
  }

  onProgress(): void {}

  onReset(): void {
    void this.lookAtAll();
  }

  /** After a start, or when events may have been missed. */
  async lookAtAll(): Promise<void> {
    const { reader, catalog } = this.#options;
    // Page by page: the cache may change between two turns.
    for (let last = ''; !this.#closed; ) {
      const page = [...reader.cache(catalog.clusters).current.scan(kindPrefix(catalog.clusters), last).take(AT_ONCE)];
      for (const cluster of page) this.#look(cluster);
      last = page.at(-1)?.key ?? '';
      if (page.length < AT_ONCE) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  close(): void {
    this.#closed = true;
    this.#pending.clear();
  }

  #look(cluster: StoredObject): void {
    const object = cluster.object();
    const present = conditionOf(object);
    if (standingOf(object, present, this.#options.productName)?.reason === present?.reason) return;
    this.#enqueue(cluster.name, { finding: undefined, uid: cluster.uid, generation: 0 });
  }

  #enqueue(name: string, entry: { finding: CredentialFinding | undefined; uid: string; generation: number }): void {
    if (this.#closed) return;
    const waiting = this.#pending.get(name);
    this.#pending.set(name, entry.finding === undefined && waiting !== undefined ? waiting : entry);
    if (!this.#busy.has(name)) void this.#drain(name);
  }

  async #drain(name: string): Promise<void> {
    this.#busy.add(name);
    try {
      for (let entry = this.#pending.get(name); entry !== undefined; entry = this.#pending.get(name)) {
        this.#pending.delete(name);
        await this.#write(name, entry);
      }
    } catch (error) {
      // Gone, or changed too often: the next event or the next use brings it up again.
      if (!(error instanceof ApiError && [404, 409].includes(error.status.code)) && !this.#closed) {
        this.#options.logger.warn({ err: error, cluster: name }, 'the condition of a cluster was not written');
      }
    } finally {
      this.#busy.delete(name);
    }
  }

  async #write(
    name: string,
    { finding, uid, generation }: { finding: CredentialFinding | undefined; uid: string; generation: number },
  ): Promise<void> {
    const { catalog, writer, productName, now } = this.#options;
    await writer.update(
      catalog.clusters,
      { cluster: '', namespace: '', name },
      (current) => {
        const standing = standingOf(current, conditionOf(current), productName);
        // What was found out about an older state of the cluster says nothing about this one.
        const holds = finding !== undefined && current.metadata.generation === generation;
        const isOpen = standing !== undefined && standing.reason !== NOT_CONFIRMED;
        return withCondition(current, holds && isOpen ? finding : standing, toTimestamp(now()));
      },
      { dryRun: false, part: 'status', preconditions: { uid } },
    );
  }
}

const NOT_CONFIRMED = 'NotConfirmed';

const conditionOf = (object: ApiObject): ClusterCondition | undefined =>
  ((object.status ?? {}) as ClusterStatus).conditions?.find(({ type }) => type === CREDENTIAL_USABLE);

/** What the object alone says; a finding stays as long as it is about the same confirmation. */
function standingOf(
  object: ApiObject,
  present: ClusterCondition | undefined,
  productName: string,
): Standing | undefined {
  if (controllerOf(object) === undefined) return undefined;
  if (!isConfirmed(object, productName)) {
    return {
      status: 'False',
      reason: NOT_CONFIRMED,
      message:
        'No administrator has confirmed that the credential of this cluster may be sent to its present address and ' +
        `checked against its present caBundle. Look at both, then run: clusterpass confirm ${object.metadata.name}`,
    };
  }
  if (present !== undefined && present.reason !== NOT_CONFIRMED) return present;
  return { status: 'Unknown', reason: 'NotUsedYet', message: 'The credential is confirmed and was not used yet.' };
}

/** Conditions of other types are somebody else's, and stay as they are. */
function withCondition(object: ApiObject, standing: Standing | undefined, time: string): ApiObject {
  const status = (object.status ?? {}) as ClusterStatus;
  const { conditions = [] } = status;
  const present = conditionOf(object);
  if (standing === undefined && present === undefined) return object;
  if (standing === undefined) {
    return { ...object, status: { ...status, conditions: conditions.filter((one) => one !== present) } };
  }
  const { status: value, reason, message } = standing;
  if (present?.status === value && present?.reason === reason && present?.message === message) return object;
  const next: ClusterCondition = {
    ...standing,
    type: CREDENTIAL_USABLE,
    lastHeartbeatTime: time,
    lastTransitionTime: present?.status === value ? (present?.lastTransitionTime ?? time) : time,
  };
  const others = conditions.map((one) => (one === present ? next : one));
  return { ...object, status: { ...status, conditions: present === undefined ? [...conditions, next] : others } };
}
