import { sortByBytes } from '../../../api/codec/go-text/go-json-text.ts';

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

  descendAll(path: readonly string[]): FieldSet {
    let node: FieldSet = this;
    for (const element of path) node = node.descend(element);
    return node;
  }

  insert(path: readonly string[]): this {
    this.descendAll(path).isMember = true;
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

/** Of all sets at once: one after the other would visit what many managers own as often as there are managers. */
export function union(...sets: readonly FieldSet[]): FieldSet {
  const filled = sets.filter((set) => !set.isEmpty);
  if (filled.length < 2) return filled[0] ?? NOTHING;
  const result = new FieldSet();
  result.isMember = filled.some(({ isMember }) => isMember);
  const children = new Map<string, FieldSet[]>();
  for (const set of filled) {
    for (const [element, child] of set.children) {
      const same = children.get(element);
      if (same === undefined) children.set(element, [child]);
      else same.push(child);
    }
  }
  for (const [element, same] of children) result.attach(element, union(...same));
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

/** The number of paths, and of the characters of their elements. */
export function sizeOf(set: FieldSet): { readonly paths: number; readonly text: number } {
  let [paths, text] = [set.isMember ? 1 : 0, 0];
  for (const [element, child] of set.children) {
    const size = sizeOf(child);
    paths += size.paths;
    text += size.text + element.length;
  }
  return { paths, text };
}

/** AP-42: fields before keys, values and indexes, each by bytes. */
export function sortedElements(set: FieldSet): string[] {
  const elements = [...set.children.keys()];
  if (elements.length < 2) return elements;
  if (elements.every((element) => element.startsWith('f'))) return sortByBytes(elements);
  const kinds = ['f', 'k', 'v', 'i'].map((kind) => elements.filter((element) => element.startsWith(kind)));
  return kinds.flatMap((some) => sortByBytes(some));
}

/** In the order of structured-merge-diff: of each level first the paths that end there, then those below. */
export function* pathsOf(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  const elements = sortedElements(set);
  for (const element of elements) if (set.children.get(element)?.isMember === true) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(set.children.get(element) ?? NOTHING, [...prefix, element]);
}
