import type { Query } from '../../api/request.ts';

/** ASCII without `%` and `+`: nothing to decode. */
const PLAIN = /^[!-$&-*,-~]*$/;
/** With escapes, of ASCII alone. */
const ASCII_ESCAPES = /^(?:[!-$&-*,-~]|%[2-7][0-9A-Fa-f])*$/;

/**
 * The query of a request, read as URLSearchParams reads it. On its way a request is asked for two dozen parameters, of which it
 * has one or two: what is not there must cost nothing.
 */
export class RequestQuery implements Query {
  readonly #values = new Map<string, string[]>();
  #size = 0;

  constructor(search: string) {
    if (search === '') return;
    for (const term of search.split('&')) {
      if (term === '') continue;
      if (PLAIN.test(term)) this.#add(term, identity);
      else if (ASCII_ESCAPES.test(term)) this.#add(term, decodeURIComponent);
      // Behind a sign that ends nothing: a question mark at the very beginning would be taken for that of the URL.
      else for (const [name, value] of new URLSearchParams(`&${term}`)) this.#put(name, value);
    }
  }

  /** The first, if there are several. */
  get(name: string): string | null {
    return this.#values.get(name)?.[0] ?? null;
  }

  getAll(name: string): string[] {
    return [...(this.#values.get(name) ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  get size(): number {
    return this.#size;
  }

  /** No other parameter than these. */
  hasOnly(names: ReadonlySet<string>): boolean {
    for (const name of this.#values.keys()) if (!names.has(name)) return false;
    return true;
  }

  #add(term: string, decode: (text: string) => string): void {
    const equals = term.indexOf('=');
    if (equals < 0) this.#put(decode(term), '');
    else this.#put(decode(term.slice(0, equals)), decode(term.slice(equals + 1)));
  }

  #put(name: string, value: string): void {
    this.#size += 1;
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }
}

const identity = (text: string): string => text;
