import { toJson, toYaml } from '../../api/codec/encode.ts';
import type { ListResponse } from '../../api/request.ts';
import { CompactList, metadataJson } from './compact-list.ts';
import { indentJson } from './indent-json.ts';
import { yamlBody } from './yaml-body.ts';

/**
 * The bytes of a list, made as they are asked for: each step of a generator below costs one item, so
 * whoever writes the list decides how much is done between two turns of the event loop.
 */

export type ListForm = 'compact' | 'pretty' | 'yaml';

/** How much is gathered before it is written: reshaping is slow, so its steps are short. */
const CHUNK_BYTES: Readonly<Record<ListForm, number>> = { compact: 262_144, pretty: 65_536, yaml: 16_384 };

export function listChunks(list: ListResponse, form: ListForm): Generator<Uint8Array> {
  const size = CHUNK_BYTES[form];
  if (form === 'compact') return compactChunks(new CompactList(list), size);
  return gather(form === 'pretty' ? prettyPieces(list) : yamlPieces(list), size);
}

function* compactChunks(list: CompactList, size: number): Generator<Uint8Array> {
  while (!list.done) {
    const chunk = Buffer.allocUnsafe(size);
    yield chunk.subarray(0, list.fill(chunk));
  }
}

/** Indented by two, without a newline at the end (F-13). */
function* prettyPieces(list: ListResponse): Generator<Uint8Array> {
  const { apiVersion, kind, style, columns } = list;
  const indented = (json: string): string => indentJson(Buffer.from(json), 1).toString();
  const empty = list.items.length === 0;
  const fields = {
    apiVersion: toJson(apiVersion),
    kind: toJson(kind),
    metadata: indented(metadataJson(list.metadata, style)),
    columnDefinitions: columns === undefined ? '' : indented(toJson(columns)),
  };
  const [before, after] = columns !== undefined ? TABLE_ORDER : style === 'custom' ? CUSTOM_ORDER : BUILTIN_ORDER;
  const head = before.map((key) => `  "${key}": ${fields[key]},\n`).join('');
  yield Buffer.from(`{\n${head}  "${itemsOf(list)}": [`);
  let first = true;
  for (const item of list.items) {
    yield Buffer.from(first ? '\n    ' : ',\n    ');
    first = false;
    yield indentJson(item, 2);
  }
  yield Buffer.from(`${empty ? ']' : '\n  ]'}${after.map((key) => `,\n  "${key}": ${fields[key]}`).join('')}\n}`);
}

const CUSTOM_ORDER = [['apiVersion'], ['kind', 'metadata']] as const;
const BUILTIN_ORDER = [['kind', 'apiVersion', 'metadata'], []] as const;
const TABLE_ORDER = [['kind', 'apiVersion', 'metadata', 'columnDefinitions'], []] as const;

const itemsOf = ({ columns }: ListResponse): string => (columns === undefined ? 'items' : 'rows');

/** Keys are sorted whatever the style: kube-apiserver writes YAML by way of a JSON map. */
function* yamlPieces(list: ListResponse): Generator<Uint8Array> {
  const { apiVersion, kind, metadata, items, columns } = list;
  const [before, after] =
    columns === undefined
      ? [{ apiVersion }, { kind, metadata }]
      : [{ apiVersion, columnDefinitions: columns, kind, metadata }, undefined];
  yield Buffer.from(`${toYaml(before)}${itemsOf(list)}:${items.length === 0 ? ' []' : ''}\n`);
  for (const item of items) {
    const text = yamlBody(item);
    // Blank lines stay blank. Exactly one newline ends each document; more of them belong to a text in it.
    yield Buffer.from(`- ${text.slice(0, -1).replace(/\n(?!\n|$)/g, '\n  ')}\n`);
  }
  if (after !== undefined) yield Buffer.from(toYaml(after));
}

/** Packs small pieces into chunks; a piece as large as a chunk goes through as it is. */
function* gather(pieces: Iterable<Uint8Array>, size: number): Generator<Uint8Array> {
  let chunk: Buffer | undefined;
  let used = 0;
  for (const piece of pieces) {
    if (chunk !== undefined && used + piece.length > size) {
      yield chunk.subarray(0, used);
      chunk = undefined;
      used = 0;
    }
    if (piece.length >= size) yield piece;
    else {
      chunk ??= Buffer.allocUnsafe(size);
      chunk.set(piece, used);
      used += piece.length;
    }
  }
  if (chunk !== undefined) yield chunk.subarray(0, used);
}
