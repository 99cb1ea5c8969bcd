/** Values and callbacks in the order in which they were added. The reader gets the values and runs the callbacks. */
export class EventQueue<T> implements AsyncIterable<T> {
  #items: ({ readonly value: T } | { readonly callback: () => void })[] = [];
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(value: T): void {
    this.#add({ value });
  }

  call(callback: () => void): void {
    this.#add({ callback });
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** The reader gets what was added before, then the error. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  #add(item: { readonly value: T } | { readonly callback: () => void }): void {
    this.#items.push(item);
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      // All at once: removing the first of ten thousand items, one by one, takes long.
      const items = this.#items;
      this.#items = [];
      for (const item of items) {
        if ('value' in item) yield item.value;
        else item.callback();
      }
      if (this.#items.length > 0) continue;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isOver) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
