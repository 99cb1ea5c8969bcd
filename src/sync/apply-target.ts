import type { ApiObject } from '../api/kind.ts';
import { isStatus } from '../client/errors.ts';
import type { Transport } from '../client/transport.ts';
import { defined } from '../lib/json.ts';
import type { Informer } from './informer.ts';
import { type Desired, keyOf } from './plan.ts';
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
export function applyTarget({ transport, path, informer, fieldManager, dryRun }: ApplyTargetOptions): SyncTarget {
  const dryRunQuery = dryRun ? { dryRun: 'All' } : {};
  const pathOf = ({ metadata: { name = '' } }: ApiObject): string => `${path}/${encodeURIComponent(name)}`;

  const find = async (object: ApiObject): Promise<ApiObject | undefined> => {
    try {
      return (await transport.request<ApiObject>('GET', pathOf(object), { expects: 'object' })).value;
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  };

  const apply = async (config: ApiObject, { force, subresource = '' }: { force: boolean; subresource?: string }) => {
    const reply = await transport.request<ApiObject>('PATCH', `${pathOf(config)}${subresource}`, {
      body: config,
      contentType: APPLY,
      expects: 'object',
      query: { fieldManager, force: force ? true : undefined, fieldValidation: 'Strict', ...dryRunQuery },
    });
    if (!dryRun) informer.put(reply.value);
    return reply;
  };

  const applyStatus = async ({ object, status }: Desired, { metadata: { uid } }: ApiObject): Promise<void> => {
    const { metadata, ...type } = bare(object);
    const config = { ...type, metadata: { ...metadata, ...defined({ uid }) }, status };
    await apply(config, { force: true, subresource: '/status' });
  };

  return {
    fieldManager,
    get objects() {
      return informer.objects;
    },

    /**
     * Apply has no precondition for "does not exist", so the object is read before. Without `force`, apply changes no
     * field that another manager set. A 200 instead of a 201 shows that another client created the object in between;
     * what was added to it is then removed again.
     */
    async create(desired) {
      const { object, status } = desired;
      const existing = await find(object);
      if (existing !== undefined) {
        informer.put(existing);
        throw new TakenError(`${keyOf(object)} exists, and was not in the list`);
      }
      const { code, value: created } = await apply(object, { force: false });
      if (dryRun) return;
      if (code !== 201) {
        await apply(bare(object), { force: false });
        throw new TakenError(`${keyOf(object)} was created by another client at the same time`);
      }
      if (status !== undefined) await applyStatus(desired, created);
    },

    /** `force`: the object is ours, so what others changed in our fields is changed back. */
    async update({ desired, actual, object, status }) {
      const { uid, resourceVersion } = actual.metadata;
      let current = actual;
      if (object) {
        // Fails if the object was replaced or changed since its owner was checked.
        const metadata = { ...desired.object.metadata, ...defined({ uid, resourceVersion }) };
        current = (await apply({ ...desired.object, metadata }, { force: true })).value;
      }
      if (status) await applyStatus(desired, current);
    },

    remove: (actual) => informer.delete(actual, pathOf(actual), dryRunQuery),
  };
}

/** Type and name. Applied, it gives up every field of the manager. */
const bare = ({ apiVersion, kind, metadata: { name = '', namespace } }: ApiObject): ApiObject => ({
  ...{ apiVersion, kind, metadata: defined({ name, namespace }) },
});
