import { goQuote } from './go-text/go-quote.ts';
import { type JsonNode, KnownNode, NumberNode } from './tree.ts';

/** S-03: further ones are not recorded. */
export const MAX_VIOLATIONS = 100;
/** Further repetitions of the same few are not even put into words: ten thousand times that would block. */
const MAX_REPORTS = 1_000;

/** A place in a body, from the inside out. `owner` is the Go type that has `key` as a field; maps and lists have none. */
export interface Path {
  readonly up: Path | undefined;
  readonly key: string | number;
  readonly owner: string | undefined;
}

/** What callers wrote comes back to them in messages, but not by the megabyte. */
export function clip(text: string, max = 256): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}...`;
}

/** S-02: dots between keys, `[i]` for indexes, no leading dot. */
export function pathText(path: Path | undefined): string {
  let text = '';
  for (let at = path; at !== undefined; at = at.up) {
    const segment = typeof at.key === 'number' ? `[${at.key}]` : clip(at.key);
    text = text === '' || text.startsWith('[') ? segment + text : `${segment}.${text}`;
  }
  return clip(text, 512);
}

/** Collects what Warn reports and Strict refuses: each text once, in the order found, up to the cap. */
export class Violations {
  readonly #texts = new Set<string>();
  #reports = 0;
  /** Where the last one was: the same key again and again, in one object, is one violation. */
  #last: { readonly what: string; readonly path: Path } | undefined;

  get list(): string[] {
    return [...this.#texts];
  }

  add(text: string): void {
    if (this.#texts.size < MAX_VIOLATIONS) this.#texts.add(text);
  }

  unknown(path: Path): void {
    this.#report('unknown', path);
  }

  duplicate(path: Path): void {
    this.#report('duplicate', path);
  }

  #report(what: string, path: Path): void {
    if (this.#texts.size >= MAX_VIOLATIONS || this.#reports >= MAX_REPORTS) return;
    const last = this.#last;
    if (last?.what === what && last.path.key === path.key && last.path.up === path.up) return;
    this.#last = { what, path };
    this.#reports += 1;
    this.#texts.add(`${what} field ${goQuote(pathText(path))}`);
  }
}

const FEW_KEYS = 16;

/** Reports the repeated keys of a whole tree in document order: for values that no schema describes. */
export function reportDuplicates(node: JsonNode, at: Path | undefined, violations: Violations): void {
  // Hardly any body has one, and so there is no need to say where it is.
  if (hasRepeatedKey(node)) walkDuplicates(node, at, violations);
}

function hasRepeatedKey(node: JsonNode): boolean {
  if (typeof node !== 'object' || node === null || node instanceof NumberNode || node instanceof KnownNode)
    return false;
  if (Array.isArray(node)) return node.some(hasRepeatedKey);
  const { keys, values } = node;
  if (keys.length > FEW_KEYS) {
    if (new Set(keys).size < keys.length) return true;
  } else {
    for (let index = 1; index < keys.length; index++) if (keys.indexOf(keys[index] ?? '') < index) return true;
  }
  return values.some(hasRepeatedKey);
}

function walkDuplicates(node: JsonNode, at: Path | undefined, violations: Violations): void {
  if (typeof node !== 'object' || node === null || node instanceof NumberNode || node instanceof KnownNode) return;
  if (Array.isArray(node)) {
    node.forEach((item, index) => {
      walkDuplicates(item, { up: at, key: index, owner: undefined }, violations);
    });
    return;
  }
  const { keys, values } = node;
  // Most objects are small, and their keys sooner compared than put into a set.
  const seen = keys.length > FEW_KEYS ? new Set<string>() : undefined;
  keys.forEach((key, index) => {
    const value = values[index] ?? null;
    const repeated = seen === undefined ? keys.indexOf(key) < index : seen.has(key);
    seen?.add(key);
    if (!repeated && typeof value !== 'object') return;
    const here: Path = { up: at, key, owner: undefined };
    if (repeated) violations.duplicate(here);
    walkDuplicates(value, here, violations);
  });
}
