/** A node of a LinkedList. Its links belong to the list. */
export interface LinkedListNode<T> {
  readonly item: T;
  previous: LinkedListNode<T> | undefined;
  next: LinkedListNode<T> | undefined;
}

/**
 * A queue from which any item can be removed in constant time. It is used for requests in flight in place of a Map or a
 * Set: V8 rehashes those into a new table as entries come and go, and an old table that survived a minor collection
 * keeps every entry it held reachable until the next major one. For requests that is several kilobytes each. For the
 * same reason `remove` clears the links of the node.
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

  /** Appends the item. The returned node removes it, once. */
  add(item: T): LinkedListNode<T> {
    const node: LinkedListNode<T> = { item, previous: this.#last, next: undefined };
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
    this.#size += 1;
    return node;
  }

  remove(node: LinkedListNode<T>): void {
    const { previous, next } = node;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    node.previous = undefined;
    node.next = undefined;
    this.#size -= 1;
  }
}
