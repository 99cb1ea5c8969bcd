/**
 * The query of a request. On its way a request is asked for two dozen parameters, of which it has one or two, and each
 * question of a URLSearchParams walks through all of them. Nobody changes it once it is read.
 */
export class RequestQuery extends URLSearchParams {
  readonly #first = new Map<string, string>();

  constructor(search: string) {
    super(search);
    if (search === '') return;
    this.forEach((value, name) => {
      if (!this.#first.has(name)) this.#first.set(name, value);
    });
  }

  /** The first of them, if there are several. */
  override get(name: string): string | null {
    return this.#first.get(name) ?? null;
  }
}
