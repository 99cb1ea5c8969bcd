import { createHash, type Hash } from 'node:crypto';
import { isJsonObject, parsedJson } from '../lib/json.ts';
import { ENGINE_KEYS, type KeyValue, type Revision, type StoreReads } from '../storage/contract.ts';
import { scan } from '../storage/scan.ts';

/**
 * An archive is a file with the contents of a store, as lines of JSON. The first line has the format and the revision,
 * each further line one key, and the last the number of keys and a hash of the lines before it, so that a truncated
 * file is detected.
 */
const FORMAT = 'clusterpass-store';
const VERSION = 1;

/** The import keeps the order of creation: a parent is older than its children. */
export type ArchiveItem = Pick<KeyValue, 'key' | 'value' | 'createRevision'>;

export interface Archive {
  readonly revision: Revision;
  readonly items: readonly ArchiveItem[];
}

/** Input of the operator cannot be used. The message is for the operator. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

/** Writes the lines, each with its newline. */
export class ArchiveWriter {
  readonly #hash: Hash = createHash('sha256');
  #items = 0;

  head(revision: Revision): string {
    return this.#line({ format: FORMAT, version: VERSION, revision });
  }

  item({ key, value, createRevision }: ArchiveItem): string {
    this.#items += 1;
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return this.#line({ key, created: createRevision, value: bytes.toString('base64') });
  }

  end(): string {
    return `${JSON.stringify({ items: this.#items, sha256: this.#hash.digest('hex') })}\n`;
  }

  #line(value: object): string {
    const line = `${JSON.stringify(value)}\n`;
    this.#hash.update(line);
    return line;
  }
}

/** Reads all lines, given without their newline. Throws ArchiveError unless the archive is complete. */
export async function readArchive(lines: AsyncIterable<string>): Promise<Archive> {
  const hash = createHash('sha256');
  const items: ArchiveItem[] = [];
  let revision: Revision | undefined;
  let ended = false;
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (ended) throw new ArchiveError(`line ${number}: unexpected line after the end of the archive`);
    const value = parseLine(line, number);
    if (revision === undefined) {
      revision = readHead(value);
    } else if ('sha256' in value) {
      if (value.items !== items.length || value.sha256 !== hash.digest('hex')) {
        throw new ArchiveError('the file was changed after the export, or lines are missing');
      }
      ended = true;
      continue;
    } else {
      items.push(readItem(value, number));
    }
    hash.update(`${line}\n`);
  }
  if (revision === undefined || !ended) throw new ArchiveError('the file is truncated: its last line is missing');
  return { revision, items };
}

function parseLine(line: string, number: number): Record<string, unknown> {
  const value = parsedJson(line);
  if (isJsonObject(value)) return value;
  // The message does not quote the line: it may hold secrets.
  throw new ArchiveError(`line ${number} is not a JSON object`);
}

const isRevision = (value: unknown): value is Revision => Number.isSafeInteger(value) && Number(value) >= 1;

function readHead({ format, version, revision }: Record<string, unknown>): Revision {
  if (format !== FORMAT) throw new ArchiveError('the file was not written by `clusterpass store export`');
  if (version !== VERSION)
    throw new ArchiveError(`the file was written by a newer release (version ${Number(version)})`);
  if (!isRevision(revision)) throw new ArchiveError('line 1: revision: expected a whole number of at least 1');
  return revision;
}

function readItem({ key, value, created }: Record<string, unknown>, number: number): ArchiveItem {
  if (typeof key !== 'string' || !key.startsWith('/')) throw new ArchiveError(`line ${number}: key: expected a path`);
  if (typeof value !== 'string') throw new ArchiveError(`line ${number}: value: expected base64`);
  if (!isRevision(created)) throw new ArchiveError(`line ${number}: created: expected a whole number of at least 1`);
  return { key, value: Buffer.from(value, 'base64'), createRevision: created };
}

/** Yields the lines of an archive of the whole store, read at one revision. */
export async function* exportStore(store: StoreReads): AsyncGenerator<string, { items: number; revision: Revision }> {
  const writer = new ArchiveWriter();
  const revision = await store.revision();
  let count = 0;
  yield writer.head(revision);
  for await (const items of scan(store, { prefix: '/', revision })) {
    for (const item of items) {
      if (ENGINE_KEYS.includes(item.key)) continue;
      count += 1;
      yield writer.item(item);
    }
  }
  yield writer.end();
  return { items: count, revision };
}
