const MAX_PROBLEMS = 100;

/** Collects everything that is wrong with a file, so that one look shows all of it. */
export class Problems {
  readonly found: string[];
  readonly #path: string;

  constructor(path = '', found: string[] = []) {
    this.#path = path;
    this.found = found;
  }

  /** The same collection, for the fields below one. */
  at(field: string): Problems {
    return new Problems(this.#join(field), this.found);
  }

  add(field: string, text: string): void {
    if (this.found.length < MAX_PROBLEMS) this.found.push(`${this.#join(field)}: ${text}`);
  }

  #join(field: string): string {
    if (this.#path === '' || field === '') return `${this.#path}${field}`;
    return field.startsWith('[') ? `${this.#path}${field}` : `${this.#path}.${field}`;
  }
}
