import { clip } from '../../lib/text.ts';
import { goQuote } from './go-text/go-quote.ts';
import { type JsonNode, KnownNode, NumberNode } from './tree.ts';

/** S-03: further violations are not recorded. */
export const MAX_VIOLATIONS = 100;
/** Further reports are not even formatted: ten thousand duplicates of few keys would block the event loop. */
export const MAX_REPORTS = 1_000;

/**
 * The path of a value, innermost key first. `owner` is the Go struct with the field `key`; undefined in maps and lists.
 */
export interface Path {
  readonly up: Path | undefined;
  readonly key: string | number;
  readonly owner: string | undefined;
}

/** The most characters of a path in a message. */
const MAX_PATH = 512;

/** S-02: dots between keys, `[i]` for indexes, no leading dot. */
export function pathText(path: Path | undefined): string {
  const keys: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.up) keys.push(at.key);
  let text = '';
  // From the outermost key, and no further than is shown: a thousand paths of 64 long keys would take 180 ms.
  for (let index = keys.length - 1; index >= 0 && text.length <= MAX_PATH; index--) {
    const key = keys[index] ?? '';
    if (typeof key === 'number') text += `[${key}]`;
    else text += text === '' ? clip(key) : `.${clip(key)}`;
  }
  return clip(text, MAX_PATH);
}

/** Collects what Warn reports and Strict refuses: each message once, in the order found, up to the limit. */
export class Violations {
  readonly #texts = new Set<string>();
  #reports = 0;

  get list(): readonly string[] {
    return [...this.#texts];
  }

  /** Further ones are not recorded, and need not be formatted. */
  get isFull(): boolean {
    return this.#texts.size >= MAX_VIOLATIONS;
  }

  add(text: string): void {
    if (!this.isFull) this.#texts.add(text);
  }

  unknown(path: Path): void {
    this.#report('unknown', path);
  }

  duplicate(path: Path): void {
    this.#report('duplicate', path);
  }

  #report(what: string, path: Path): void {
    if (this.isFull || this.#reports >= MAX_REPORTS) return;
    this.#reports += 1;
    this.add(`${what} field ${goQuote(pathText(path))}`);
  }
}

/** Reports the duplicate keys of a whole tree in document order: for values without a schema. */
export function reportDuplicates(node: JsonNode, at: Path | undefined, violations: Violations): void {
  if (typeof node !== 'object' || node === null || node instanceof NumberNode || node instanceof KnownNode) return;
  if (Array.isArray(node)) {
    for (const [key, item] of node.entries()) reportDuplicates(item, { up: at, key, owner: undefined }, violations);
    return;
  }
  const seen = new Set<string>();
  for (const [index, key] of node.keys.entries()) {
    const here: Path = { up: at, key, owner: undefined };
    if (seen.has(key)) violations.duplicate(here);
    seen.add(key);
    reportDuplicates(node.values[index] ?? null, here, violations);
  }
}

/** The duplicate keys of a tree, as texts. */
export function duplicatesIn(root: JsonNode): readonly string[] {
  const violations = new Violations();
  reportDuplicates(root, undefined, violations);
  return violations.list;
}
