/** Where an item stands. Nobody's business but the row's. */
export interface LinkedListNode<T> {
  readonly item: T;
  before: LinkedListNode<T> | undefined;
  after: LinkedListNode<T> | undefined;
}

/**
 * Items in the order in which they came, of which any may leave. Links, and not a Map or a Set: one of these through which
 * much goes is copied again and again, and V8 leaves in each copy what was in it at the time, with a link to the next. Once
 * one of the copies is old, all that follow live on with all they hold, although nobody can reach them, until what is old is
 * collected. In a server that were whole requests, some kilobytes of each. For the same reason a node that
 * was left lets go of its neighbours.
 */
export class LinkedList<T> {
  #first: LinkedListNode<T> | undefined;
  #last: LinkedListNode<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#first?.item;
  }

  /** At the end. What is returned is needed to leave, and good for that once. */
  add(item: T): LinkedListNode<T> {
    const node: LinkedListNode<T> = { item, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = node;
    else this.#last.after = node;
    this.#last = node;
    this.#size += 1;
    return node;
  }

  remove(node: LinkedListNode<T>): void {
    const { before, after } = node;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    node.before = undefined;
    node.after = undefined;
    this.#size -= 1;
  }
}
