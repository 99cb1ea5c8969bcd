import { encodeValue, toJson } from '../../api/codec/encode.ts';
import type { ListResponse } from '../../api/request.ts';

const COMMA = 0x2c;

/**
 * The compact form of a list, written piece by piece into whatever buffers it is given: its items are ready, so it costs
 * no more than to copy them.
 */
export class CompactList {
  /** Of the whole, known without writing it. */
  readonly length: number;
  readonly #items: readonly Uint8Array[];
  readonly #head: Buffer;
  readonly #tail: Buffer;
  /** Which piece is next: -1 is the head, and the tail comes after the items. */
  #next = -1;
  /** How much of it has been written: a buffer may end anywhere. */
  #written = 0;

  constructor(list: ListResponse) {
    const { head, tail } = frameOf(list);
    const { items } = list;
    this.#items = items;
    this.#head = head;
    this.#tail = Buffer.from(tail);
    let length = head.length + this.#tail.length + Math.max(0, items.length - 1);
    for (let index = 0; index < items.length; index++) length += (items[index] as Uint8Array).length;
    this.length = length;
  }

  get done(): boolean {
    return this.#next > this.#items.length;
  }

  /** Goes on writing at this place of the buffer, to its end or to that of the list; gives the place after it. */
  fill(into: Uint8Array, from = 0): number {
    const items = this.#items;
    let at = this.#fillItems(into, from);
    while (this.#next <= items.length && at < into.length) {
      const piece = this.#piece(this.#next);
      const left = piece.length - this.#written;
      const room = into.length - at;
      if (left > room) {
        into.set(piece.subarray(this.#written, this.#written + room), at);
        this.#written += room;
        return into.length;
      }
      into.set(this.#written === 0 ? piece : piece.subarray(this.#written), at);
      at += left;
      // The comma counts as the last byte of its item.
      if (this.#next >= 0 && this.#next < items.length - 1) {
        if (at === into.length) {
          this.#written = piece.length;
          return at;
        }
        into[at++] = COMMA;
      }
      this.#written = 0;
      this.#next++;
      at = this.#fillItems(into, at);
    }
    return at;
  }

  /** Nearly everything: items that are whole, have another behind them, and fit. */
  #fillItems(into: Uint8Array, from: number): number {
    if (this.#next < 0 || this.#written > 0) return from;
    const items = this.#items;
    let next = this.#next;
    let at = from;
    for (; next < items.length - 1; next++) {
      const item = items[next] as Uint8Array;
      const comma = at + item.length;
      if (comma >= into.length) break;
      into.set(item, at);
      into[comma] = COMMA;
      at = comma + 1;
    }
    this.#next = next;
    return at;
  }

  #piece(index: number): Uint8Array {
    return index < 0 ? this.#head : (this.#items[index] ?? this.#tail);
  }
}

/** What stands before and after the items. Custom resources have sorted keys, built-in ones a fixed order (L-10). */
function frameOf(list: ListResponse): { head: Buffer; tail: string } {
  const meta = metadataJson(list.metadata, list.style);
  if (list.style === 'custom') {
    const { head, beforeMetadata } = customFrame(list);
    return { head, tail: `${beforeMetadata}${meta}}\n` };
  }
  const items = list.columns === undefined ? '"items":[' : `"columnDefinitions":${toJson(list.columns)},"rows":[`;
  const head = `{"kind":${toJson(list.kind)},"apiVersion":${toJson(list.apiVersion)},"metadata":${meta},${items}`;
  return { head: Buffer.from(head), tail: ']}\n' };
}

interface CustomFrame {
  readonly apiVersion: string;
  readonly head: Buffer;
  readonly beforeMetadata: string;
}

/** By the kind of the list. There are as many as there are kinds, which is few. */
const CUSTOM_FRAMES = new Map<string, CustomFrame>();

function customFrame({ apiVersion, kind }: ListResponse): CustomFrame {
  const known = CUSTOM_FRAMES.get(kind);
  if (known?.apiVersion === apiVersion) return known;
  const head = Buffer.from(`{"apiVersion":${toJson(apiVersion)},"items":[`);
  const made = { apiVersion, head, beforeMetadata: `],"kind":${toJson(kind)},"metadata":` };
  CUSTOM_FRAMES.set(kind, made);
  return made;
}

export const metadataJson = (metadata: ListResponse['metadata'], style: ListResponse['style']): string =>
  style === 'custom' && !isInOrder(metadata) ? encodeValue(metadata, undefined, 'custom') : toJson(metadata);

/** Whoever made it has put it in order, and nothing in it has members of its own. */
function isInOrder(metadata: ListResponse['metadata']): boolean {
  let last = '';
  for (const key of Object.keys(metadata)) {
    if (key <= last || typeof metadata[key] === 'object') return false;
    last = key;
  }
  return true;
}
