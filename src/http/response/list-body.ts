import { encodeValue, toJson } from '../../api/codec/encode.ts';
import { toYaml, yamlOf } from '../../api/codec/to-yaml.ts';
import type { ListResponse } from '../../api/request.ts';
import { indentJson } from './indent-json.ts';

/**
 * The bytes of a list, generated on demand: each step of a generator below costs one item, so the writer of the list
 * decides how much is done in one turn.
 */

export type ListForm = 'compact' | 'pretty' | 'yaml';

/** How much is gathered for one write, and copied for one. */
const CHUNK_BYTES = 65_536;
const COMPACT_CHUNK_BYTES = 262_144;

/** Undefined after an item that is still to be gathered. */
export function listChunks(list: ListResponse, form: ListForm): Generator<Uint8Array | undefined> {
  if (form === 'compact') return compactChunks(new CompactList(list));
  return gather(form === 'pretty' ? prettyPieces(list) : yamlPieces(list));
}

function* compactChunks(list: CompactList): Generator<Uint8Array> {
  while (!list.done) {
    const chunk = Buffer.allocUnsafe(COMPACT_CHUNK_BYTES);
    yield chunk.subarray(0, list.fill(chunk));
  }
}

/** Indented by two, without a newline at the end (F-13). */
function* prettyPieces(list: ListResponse): Generator<Uint8Array> {
  const { apiVersion, kind, style, columns } = list;
  const empty = list.items.length === 0;
  const fields = {
    apiVersion: toJson(apiVersion),
    kind: toJson(kind),
    metadata: indentJson(metadataJson(list.metadata, style), 1),
    columnDefinitions: columns === undefined ? '' : indentJson(toJson(columns), 1),
  };
  const [before, after] = columns !== undefined ? TABLE_ORDER : style === 'custom' ? CUSTOM_ORDER : BUILTIN_ORDER;
  const head = before.map((key) => `  "${key}": ${fields[key]},\n`).join('');
  yield Buffer.from(`{\n${head}  "${itemsOf(list)}": [`);
  let first = true;
  for (const item of list.items) {
    yield Buffer.from(first ? '\n    ' : ',\n    ');
    first = false;
    yield Buffer.from(indentJson(item, 2));
  }
  yield Buffer.from(`${empty ? ']' : '\n  ]'}${after.map((key) => `,\n  "${key}": ${fields[key]}`).join('')}\n}`);
}

const CUSTOM_ORDER = [['apiVersion'], ['kind', 'metadata']] as const;
const BUILTIN_ORDER = [['kind', 'apiVersion', 'metadata'], []] as const;
const TABLE_ORDER = [['kind', 'apiVersion', 'metadata', 'columnDefinitions'], []] as const;

const itemsOf = ({ columns }: ListResponse): string => (columns === undefined ? 'items' : 'rows');

/** Keys are sorted for every style: kube-apiserver writes YAML by way of a JSON map. */
function* yamlPieces(list: ListResponse): Generator<Uint8Array> {
  const { apiVersion, kind, metadata, items, columns } = list;
  const [before, after] =
    columns === undefined
      ? [{ apiVersion }, { kind, metadata }]
      : [{ apiVersion, columnDefinitions: columns, kind, metadata }, undefined];
  yield Buffer.from(`${toYaml(before)}${itemsOf(list)}:${items.length === 0 ? ' []' : ''}\n`);
  for (const item of items) yield Buffer.from(`- ${yamlOf(item, '  ')}`);
  if (after !== undefined) yield Buffer.from(toYaml(after));
}

/** Packs small pieces into chunks; a piece as large as a chunk is passed through. */
function* gather(pieces: Iterable<Uint8Array>): Generator<Uint8Array | undefined> {
  let chunk: Buffer | undefined;
  let used = 0;
  for (const piece of pieces) {
    if (chunk !== undefined && used + piece.length > CHUNK_BYTES) {
      yield chunk.subarray(0, used);
      chunk = undefined;
      used = 0;
    }
    if (piece.length >= CHUNK_BYTES) yield piece;
    else {
      chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
      chunk.set(piece, used);
      used += piece.length;
      yield undefined;
    }
  }
  if (chunk !== undefined) yield chunk.subarray(0, used);
}

const COMMA = 0x2c;

/**
 * The compact form of a list. Its items are serialized already, so to write it is to copy them into the buffers given.
 */
export class CompactList {
  /** Of the whole list, in bytes. */
  readonly length: number;
  readonly #items: readonly Uint8Array[];
  readonly #head: Buffer;
  readonly #tail: Buffer;
  /** Which piece is next: -1 is the head, and the tail comes after the items. */
  #next = -1;
  /** How many bytes of that piece have been written: a buffer may end anywhere. */
  #written = 0;

  constructor(list: ListResponse) {
    const { head, tail } = frameOf(list);
    const { items } = list;
    this.#items = items;
    this.#head = Buffer.from(head);
    this.#tail = Buffer.from(tail);
    let length = this.#head.length + this.#tail.length + Math.max(0, items.length - 1);
    for (let index = 0; index < items.length; index++) length += (items[index] as Uint8Array).length;
    this.length = length;
  }

  get done(): boolean {
    return this.#next > this.#items.length;
  }

  /** Continues at this offset, to the end of the buffer or of the list; returns the offset after it. */
  fill(into: Uint8Array, from = 0): number {
    const last = this.#items.length - 1;
    let at = from;
    while (!this.done && at < into.length) {
      const piece = this.#piece(this.#next);
      // The comma counts as the last byte of its item.
      const hasComma = this.#next >= 0 && this.#next < last;
      const room = into.length - at;
      const left = piece.length - this.#written;
      const part = this.#written === 0 && left <= room ? piece : piece.subarray(this.#written, this.#written + room);
      into.set(part, at);
      at += part.length;
      this.#written += part.length;
      if (this.#written < piece.length || (hasComma && at === into.length)) return at;
      if (hasComma) into[at++] = COMMA;
      this.#written = 0;
      this.#next++;
    }
    return at;
  }

  #piece(index: number): Uint8Array {
    return index < 0 ? this.#head : (this.#items[index] ?? this.#tail);
  }
}

/** What is before and after the items. Custom resources have sorted keys, built-in ones a fixed order (L-10). */
function frameOf(list: ListResponse): { head: string; tail: string } {
  const { apiVersion, kind, style, columns } = list;
  const metadata = metadataJson(list.metadata, style);
  if (style === 'custom') {
    return {
      head: `{"apiVersion":${toJson(apiVersion)},"items":[`,
      tail: `],"kind":${toJson(kind)},"metadata":${metadata}}\n`,
    };
  }
  const items = columns === undefined ? '"items":[' : `"columnDefinitions":${toJson(columns)},"rows":[`;
  return {
    head: `{"kind":${toJson(kind)},"apiVersion":${toJson(apiVersion)},"metadata":${metadata},${items}`,
    tail: ']}\n',
  };
}

const metadataJson = (metadata: ListResponse['metadata'], style: ListResponse['style']): string =>
  style === 'custom' ? encodeValue(metadata, undefined, 'custom') : toJson(metadata);
