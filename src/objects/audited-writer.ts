import type { ApiObject, Kind, ObjectKey } from '../api/kind.ts';
import type { ServerChange } from '../observability/audit/server-event.ts';
import type { ObjectWriter } from './writer.ts';

type Writes = Pick<ObjectWriter, 'create' | 'update' | 'remove'>;

/** A writer for changes that the server makes without a request. Calls `record` for each changed object. */
export function auditedWriter(writer: Writes, part: string, record: (change: ServerChange) => void): Writes {
  const changed = (verb: ServerChange['verb'], kind: Kind, objectKey: ObjectKey, uid: string | undefined): void => {
    const { cluster, namespace, name } = objectKey;
    record({ part, verb, kind, objectKey: { cluster, namespace, name }, uid });
  };
  return {
    async create(kind, within, sent, options) {
      const object = await writer.create(kind, within, sent, options);
      const { name = '', uid } = object.metadata;
      if (!options.dryRun) changed('create', kind, { ...within, name }, uid);
      return object;
    },
    async update(kind, objectKey, change, options) {
      let before: ApiObject | undefined;
      const next = await writer.update(
        kind,
        objectKey,
        (current) => {
          before = current;
          return change(current);
        },
        options,
      );
      const { uid, resourceVersion } = next.metadata;
      // An update without changes is not written.
      if (!options.dryRun && resourceVersion !== before?.metadata.resourceVersion) {
        changed('update', kind, objectKey, uid);
      }
      return next;
    },
    async remove(kind, objectKey, options) {
      const removed = await writer.remove(kind, objectKey, options);
      if (!options.dryRun) changed('delete', kind, objectKey, removed.uid);
      return removed;
    },
  };
}
