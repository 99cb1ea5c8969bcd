import { compareBytes } from '../../../api/codec/go-text/go-json-text.ts';

/**
 * A set of field paths, as a tree. A path element is written as in `fieldsV1`: `f:NAME`, `k:{"KEY":VALUE}`, `v:VALUE`,
 * `i:INDEX`. Elements that mean the same have the same text, so they are compared as text.
 *
 * The functions return new sets and modify none. `insert` is for building a set.
 */
export class FieldSet {
  /** The path of this node is in the set. Has no meaning at the root. */
  isMember = false;
  #children: Map<string, FieldSet> | undefined;

  get children(): ReadonlyMap<string, FieldSet> {
    return this.#children ?? NO_CHILDREN;
  }

  /** No path, neither this one nor one below it. */
  get isEmpty(): boolean {
    return !this.isMember && this.children.size === 0;
  }

  /** The node of a child, created if it is missing. The caller has to put a path into it. */
  descend(element: string): FieldSet {
    this.#children ??= new Map();
    let child = this.#children.get(element);
    if (child === undefined) {
      child = new FieldSet();
      this.#children.set(element, child);
    }
    return child;
  }

  insert(path: readonly string[]): this {
    let node: FieldSet = this;
    for (const element of path) node = node.descend(element);
    node.isMember = true;
    return this;
  }

  /** Adds a child, unless it is empty. */
  attach(element: string, child: FieldSet): void {
    if (child.isEmpty) return;
    this.#children ??= new Map();
    this.#children.set(element, child);
  }

  has(path: readonly string[]): boolean {
    let node: FieldSet | undefined = this;
    for (const element of path) node = node?.children.get(element);
    return node !== undefined && node !== this && node.isMember;
  }
}

const NO_CHILDREN: ReadonlyMap<string, FieldSet> = new Map();
const NOTHING = new FieldSet();

export const setOf = (paths: readonly (readonly string[])[]): FieldSet =>
  paths.reduce((set, path) => set.insert(path), new FieldSet());

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a.isEmpty) return b;
  if (b.isEmpty) return a;
  const result = new FieldSet();
  result.isMember = a.isMember || b.isMember;
  for (const [element, child] of a.children) result.attach(element, union(child, b.children.get(element) ?? NOTHING));
  for (const [element, child] of b.children) if (!a.children.has(element)) result.attach(element, child);
  return result;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const result = new FieldSet();
  result.isMember = a.isMember && b.isMember;
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other !== undefined) result.attach(element, intersection(child, other));
  }
  return result;
}

/** The paths of `a` that are not in `b`. A path below one of `b` stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (b.isEmpty) return a;
  const result = new FieldSet();
  result.isMember = a.isMember && !b.isMember;
  for (const [element, child] of a.children) {
    result.attach(element, difference(child, b.children.get(element) ?? NOTHING));
  }
  return result;
}

/** The paths of `a` that are neither in `b` nor below a path of `b`. */
export function without(a: FieldSet, b: FieldSet): FieldSet {
  if (b.isEmpty) return a;
  const result = new FieldSet();
  result.isMember = a.isMember;
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined) result.attach(element, child);
    else if (!other.isMember) result.attach(element, without(child, other));
  }
  return result;
}

export function sizeOf(set: FieldSet): number {
  let size = set.isMember ? 1 : 0;
  for (const child of set.children.values()) size += sizeOf(child);
  return size;
}

/** AP-42: fields before keys, values and indexes. */
const RANKS: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

export function compareElements(a: string, b: string): number {
  const ranks = (RANKS[a.charAt(0)] ?? 0) - (RANKS[b.charAt(0)] ?? 0);
  return ranks === 0 ? compareBytes(a, b) : ranks;
}

export const sortedElements = (set: FieldSet): string[] => [...set.children.keys()].sort(compareElements);

/** In the order of structured-merge-diff: of each level first the paths that end there, then those below. */
export function* pathsOf(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  const elements = sortedElements(set);
  for (const element of elements) if (set.children.get(element)?.isMember === true) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(set.children.get(element) ?? NOTHING, [...prefix, element]);
}
