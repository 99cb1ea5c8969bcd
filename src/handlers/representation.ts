import type { ClusterRule } from '../api/authorization.ts';
import { encodeValue, toJson } from '../api/codec/encode.ts';
import { humanAge } from '../api/codec/go-text/human-duration.ts';
import { type ApiObject, apiVersionOf, type Kind, type TableColumn } from '../api/kind.ts';
import type { TimeSlice } from '../lib/time-slice.ts';
import type { StoredObject } from '../objects/stored-object.ts';

/** The forms in which objects are sent. */
export type Form = 'object' | 'table' | 'partial-object-metadata';
export type IncludeObject = 'Metadata' | 'Object' | 'None';

/** How one caller sees objects of a kind: whole or public, and in which form. */
export interface Representation {
  readonly kind: Kind;
  readonly form: Form;
  readonly includeObject: IncludeObject;
  /**
   * Which clusters the caller may change and so sees whole; undefined when everything is shown whole.
   * A rule with `none` shows only public views.
   */
  readonly whole: ClusterRule | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** For a table that is streamed: true once, since only the first event names the columns (B-05). */
  readonly namesColumns?: () => boolean;
}

/** True the first time it is asked. */
export function once(): () => boolean {
  let asked = false;
  return () => {
    const first = !asked;
    asked = true;
    return first;
  };
}

const seesWhole = ({ whole }: Representation, entry: StoredObject): boolean =>
  whole === undefined || whole.admits(entry.name, entry.labels);

/** The object this caller may see. */
export function viewOf(representation: Representation, entry: StoredObject): ApiObject {
  return seesWhole(representation, entry) ? entry.object() : entry.publicObject();
}

/** One item, serialized. The plain form is ready in the cache; the others are made here. */
export function renderItem(representation: Representation, entry: StoredObject): Uint8Array {
  switch (representation.form) {
    case 'object':
      return seesWhole(representation, entry) ? entry.fullJson : entry.publicJson;
    case 'partial-object-metadata':
      return Buffer.from(toJson(partialMetadata(viewOf(representation, entry))));
    case 'table':
      return Buffer.from(toJson(streamedTable(representation, viewOf(representation, entry))));
  }
}

/** How many items are made before a look at the clock. */
const BETWEEN_LOOKS = 8;

/**
 * Many items. Most are ready in the cache and only picked up; after a start they are made, and that takes its turns.
 * What is picked up lies all over the memory: in a short loop the processor fetches several at once.
 */
export async function renderItems(
  representation: Representation,
  entries: readonly StoredObject[],
  turn: TimeSlice,
): Promise<Uint8Array[]> {
  const isPublic = representation.form === 'object' && representation.whole?.none === true;
  const items: Uint8Array[] = [];
  for (let start = 0; start < entries.length; start += BETWEEN_LOOKS) {
    if (start > 0 && turn.isOver) await turn.next();
    const some = entries.slice(start, start + BETWEEN_LOOKS);
    if (isPublic) for (const entry of some) items.push(entry.publicJson);
    else for (const entry of some) items.push(renderListed(representation, entry));
  }
  return items;
}

const renderListed = (representation: Representation, entry: StoredObject): Uint8Array =>
  representation.form === 'table'
    ? Buffer.from(toJson(rowOf(representation, viewOf(representation, entry))))
    : renderItem(representation, entry);

export function partialMetadata(object: ApiObject): ApiObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

export const TABLE = { kind: 'Table', apiVersion: 'meta.k8s.io/v1' } as const;

/** B-01..B-04: of one object. */
export const tableOf = (
  representation: Representation,
  object: ApiObject,
  metadata: Readonly<Record<string, unknown>>,
  withColumns: boolean,
): object => ({
  ...TABLE,
  metadata,
  columnDefinitions: withColumns ? columnsOf(representation.kind) : null,
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

/** B-03: kubectl prints cells as they come, so an age is told in words, as of the moment it is sent. */
function cellOf(column: TableColumn, object: ApiObject, now: number): string | number | null {
  const cell = column.cell(object);
  return column.type === 'date' ? humanAge(cell, now) : cell;
}

const streamedTable = (representation: Representation, object: ApiObject): object =>
  tableOf(
    representation,
    object,
    { resourceVersion: object.metadata.resourceVersion },
    representation.namesColumns?.() ?? true,
  );

/** What a caller is told of an object that it may no longer see: enough to forget it. */
export function renderTombstone(representation: Representation, name: string, revision: number): Uint8Array {
  const { kind, form } = representation;
  const object: ApiObject = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name, resourceVersion: String(revision) },
  };
  if (form === 'partial-object-metadata') return Buffer.from(toJson(partialMetadata(object)));
  if (form === 'table') return Buffer.from(toJson(streamedTable(representation, object)));
  return Buffer.from(encodeValue(object, kind.shape, kind.style));
}

/** V-06, V-08: a position in the stream, and nothing else. */
export function renderBookmark(representation: Representation, revision: number, endOfInitial: boolean): Uint8Array {
  const { kind, form } = representation;
  const object: ApiObject = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      resourceVersion: String(revision),
      ...(endOfInitial ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    },
  };
  if (form === 'partial-object-metadata') return Buffer.from(toJson(partialMetadata(object)));
  // The end of the initial events is marked on the row's object, so the row has one even where none was asked for.
  if (form === 'table') {
    return Buffer.from(toJson(streamedTable({ ...representation, includeObject: 'Metadata' }, object)));
  }
  return Buffer.from(encodeValue(object, kind.shape, kind.style));
}
