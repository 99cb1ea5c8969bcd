import type { ApiObject } from '../api/kind.ts';
import { isStatus } from '../client/errors.ts';
import type { Transport } from '../client/transport.ts';
import { defined } from '../lib/json.ts';
import type { Informer } from './informer.ts';
import { type Desired, keyOf, type Update } from './plan.ts';
import type { SyncTarget } from './reconciler.ts';

const APPLY = 'application/apply-patch+yaml';

/** An object of this name exists that was not known when the plan was made. */
class TakenError extends Error {
  override readonly name = 'TakenError';
}

interface ApplyTargetOptions {
  readonly transport: Transport;
  /** The path of the collection that is written to. */
  readonly path: string;
  readonly informer: Informer;
  readonly fieldManager: string;
  /** The server checks the writes and does not persist them. */
  readonly dryRun: boolean;
}

/** Where a plan is written to: one collection, by server-side apply. */
export class ApplyTarget implements SyncTarget {
  readonly #options: ApplyTargetOptions;

  constructor(options: ApplyTargetOptions) {
    this.#options = options;
  }

  get objects(): ReadonlyMap<string, ApiObject> {
    return this.#options.informer.objects;
  }

  get fieldManager(): string {
    return this.#options.fieldManager;
  }

  /**
   * Apply has no precondition for "does not exist", so the object is read before. Without `force`, apply changes no
   * field that another manager set. A 200 instead of a 201 shows that another client created the object in between;
   * what was added to it is then removed again.
   */
  async create(desired: Desired): Promise<void> {
    const { object, status } = desired;
    const existing = await this.#find(object);
    if (existing !== undefined) {
      this.#options.informer.put(existing);
      throw new TakenError(`${keyOf(object)} exists, and was not in the list`);
    }
    const { code, value: created } = await this.#apply(object, { force: false });
    if (this.#options.dryRun) return;
    if (code !== 201) {
      await this.#apply(bare(object), { force: false });
      throw new TakenError(`${keyOf(object)} was created by another client at the same time`);
    }
    if (status !== undefined) await this.#applyStatus(desired, created);
  }

  /** `force`: the object is ours, so what others changed in our fields is changed back. */
  async update({ desired, actual, object, status }: Update): Promise<void> {
    const { uid, resourceVersion } = actual.metadata;
    let current = actual;
    if (object) {
      // Fails if the object was replaced or changed since its owner was checked.
      const metadata = { ...desired.object.metadata, ...defined({ uid, resourceVersion }) };
      const config = { ...desired.object, metadata };
      current = (await this.#apply(config, { force: true })).value;
    }
    if (status) await this.#applyStatus(desired, current);
  }

  remove(actual: ApiObject): Promise<void> {
    return this.#options.informer.delete(actual, this.#pathOf(actual), this.#dryRunQuery());
  }

  async #find(object: ApiObject): Promise<ApiObject | undefined> {
    try {
      return (await this.#options.transport.request<ApiObject>('GET', this.#pathOf(object), { expects: 'object' }))
        .value;
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  async #applyStatus({ object, status }: Desired, { metadata: { uid } }: ApiObject): Promise<void> {
    const { metadata, ...type } = bare(object);
    const config = { ...type, metadata: { ...metadata, ...(uid === undefined ? {} : { uid }) }, status };
    await this.#apply(config, { force: true, subresource: '/status' });
  }

  async #apply(config: ApiObject, { force, subresource = '' }: { force: boolean; subresource?: string }) {
    const { transport, fieldManager, informer, dryRun } = this.#options;
    const reply = await transport.request<ApiObject>('PATCH', `${this.#pathOf(config)}${subresource}`, {
      body: config,
      contentType: APPLY,
      expects: 'object',
      query: { fieldManager, force: force ? true : undefined, fieldValidation: 'Strict', ...this.#dryRunQuery() },
    });
    if (!dryRun) informer.put(reply.value);
    return reply;
  }

  #dryRunQuery(): { dryRun?: string } {
    return this.#options.dryRun ? { dryRun: 'All' } : {};
  }

  #pathOf({ metadata: { name = '' } }: ApiObject): string {
    return `${this.#options.path}/${encodeURIComponent(name)}`;
  }
}

/** Type and name. Applied, it gives up every field of the manager. */
const bare = ({ apiVersion, kind, metadata: { name = '', namespace } }: ApiObject): ApiObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});
