import { encodeValue } from '../api/codec/encode.ts';
import { humanAge } from '../api/codec/go-text/human-duration.ts';
import type { StructShape } from '../api/codec/shape.ts';
import {
  type ApiObject,
  apiVersionOf,
  type Kind,
  type ObjectKey,
  type ObjectMeta,
  type TableColumn,
} from '../api/kind.ts';
import { PARTIAL_METADATA_SHAPE, rowShape, tableShape } from '../api/kinds/representations.ts';
import type { Accepted, ValueResponse } from '../api/request.ts';
import type { VisibilityRule } from '../api/visibility.ts';
import type { Work } from '../lib/work-queue.ts';
import type { ObjectView, ReadableObject } from '../objects/readable.ts';

/** The forms of `Accept: ...;as=`. */
export type Form = Exclude<Accepted['as'], 'partial-object-metadata-list'>;
export type IncludeObject = 'Metadata' | 'Object' | 'None';

/** How one caller sees the objects of a kind: whole or as public view, and in which form. */
export interface Representation {
  readonly kind: Kind;
  readonly form: Form;
  readonly includeObject: IncludeObject;
  /**
   * Which clusters the caller may update, and so sees whole; undefined when every object is shown whole.
   * With `none` the caller sees only public views.
   */
  readonly whole: VisibilityRule | undefined;
  /** For projections, whose objects can depend on it; `""` for stored kinds. */
  readonly clientAddress: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** B-05: only the first event of a streamed table names the columns. */
  readonly streamed?: { namesColumns: boolean };
}

const viewFor = ({ whole }: Representation, entry: ReadableObject): ObjectView =>
  whole === undefined || whole.admits(entry.name, entry.ruleLabels) ? 'whole' : 'public';

/** Equal for representations of a kind that show an object as the same bytes. */
export const viewKey = (representation: Representation, entry: ReadableObject): string => {
  const { form, includeObject, streamed, clientAddress } = representation;
  return `${form} ${includeObject} ${streamed?.namesColumns} ${viewFor(representation, entry)} ${clientAddress}`;
};

/** The object as this caller may see it. */
export const viewOf = (representation: Representation, entry: ReadableObject): ApiObject =>
  entry.shown(viewFor(representation, entry), representation.clientAddress);

/** One serialized item. The cache holds the plain form; the others are made here. */
export const renderItem = (representation: Representation, entry: ReadableObject): Uint8Array =>
  representation.form === 'object'
    ? entry.json(viewFor(representation, entry), representation.clientAddress)
    : renderObject(representation, viewOf(representation, entry));

/** An object in the form of the representation, and the schema of that form. */
export function shapedObject(
  representation: Representation,
  object: ApiObject,
): Required<Omit<ValueResponse, 'type' | 'code'>> {
  const { kind, form } = representation;
  switch (form) {
    case 'object':
      return { value: object, schema: kind };
    case 'partial-object-metadata':
      return { value: partialMetadata(object), schema: PARTIAL_METADATA };
    case 'table': {
      const schema = { shape: tableShape(rowShapeOf(representation)), style: 'builtin' } as const;
      return { value: tableOf(representation, object), schema };
    }
  }
}

export const PARTIAL_METADATA = { shape: PARTIAL_METADATA_SHAPE, style: 'builtin' } as const;

function renderObject(representation: Representation, object: ApiObject): Uint8Array {
  const { value, schema } = shapedObject(representation, object);
  return Buffer.from(encodeValue(value, schema.shape, schema.style));
}

/** While V8 marks its heap, each new buffer outside of it may cost 5 to 10 ms of marking. */
const ITEMS_PER_CLOCK_READ = 2;

/** Many serialized items. Most are in the cache; after a start they are made here, in several turns. */
export async function renderItems(
  representation: Representation,
  entries: readonly ReadableObject[],
  work: Work,
): Promise<Uint8Array[]> {
  // Of its final size: the array lives until a slow client has read the list, and a grown one has a third to spare.
  const items = new Array<Uint8Array>(entries.length);
  for (let start = 0; start < entries.length; start += ITEMS_PER_CLOCK_READ) {
    if (start > 0 && work.isUsedUp) await work.turn();
    const end = Math.min(start + ITEMS_PER_CLOCK_READ, entries.length);
    for (let index = start; index < end; index++) {
      items[index] = renderListed(representation, entries[index] as ReadableObject);
    }
  }
  return items;
}

const renderListed = (representation: Representation, entry: ReadableObject): Uint8Array =>
  representation.form === 'table'
    ? Buffer.from(
        encodeValue(rowOf(representation, viewOf(representation, entry)), rowShapeOf(representation), 'builtin'),
      )
    : renderItem(representation, entry);

export function partialMetadata(object: ApiObject): ApiObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

export const TABLE = { kind: 'Table', apiVersion: 'meta.k8s.io/v1' } as const;

/** B-01..B-04: the table of one object. */
const tableOf = (representation: Representation, object: ApiObject): object => ({
  ...TABLE,
  metadata: { resourceVersion: object.metadata.resourceVersion },
  columnDefinitions: representation.streamed?.namesColumns === false ? null : columnsOf(representation.kind),
  rows: [rowOf(representation, object)],
});

export const columnsOf = (kind: Kind): object[] => kind.columns.map(({ cell: _, ...definition }) => definition);

function rowOf({ kind, includeObject, now }: Representation, object: ApiObject): object {
  const at = now();
  return {
    cells: kind.columns.map((column) => cellOf(column, object, at)),
    ...(includeObject === 'None' ? {} : { object: includeObject === 'Object' ? object : partialMetadata(object) }),
  };
}

/** B-03: kubectl prints cells unchanged, so an age is text, computed when the table is sent. */
function cellOf(column: TableColumn, object: ApiObject, now: number): string | number | null {
  const cell = column.cell(object);
  return column.type === 'date' ? humanAge(cell, now) : cell;
}

const rowShapeOf = ({ kind, includeObject }: Representation): StructShape =>
  rowShape(includeObject === 'Object' ? kind : undefined);

/** An object that the caller may no longer see: only where it is and the revision. */
export function renderTombstone(
  representation: Representation,
  { namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>,
  revision: number,
): Uint8Array {
  const { kind } = representation;
  return renderObject(representation, {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name, ...(namespace === '' ? {} : { namespace }), resourceVersion: String(revision) },
  });
}

/** V-08: the annotation of the bookmark that ends the initial events. */
export const INITIAL_EVENTS_END: ObjectMeta = { annotations: { 'k8s.io/initial-events-end': 'true' } };

/** V-06: an object with nothing but a resourceVersion, and what `metadata` has. */
export function renderBookmark(
  representation: Representation,
  revision: number,
  metadata: ObjectMeta = {},
): Uint8Array {
  const { kind } = representation;
  // The annotation is on the object of a table's row, so the row has one even with includeObject=None.
  return renderObject(
    { ...representation, includeObject: 'Metadata' },
    {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: { resourceVersion: String(revision), ...metadata },
    },
  );
}
