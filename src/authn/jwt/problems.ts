const MAX_PROBLEMS = 100;

/** Collects every problem of a configuration file, so that one start reports all of them. */
export class Problems {
  readonly found: string[];
  readonly #path: string;

  constructor(path = '', found: string[] = []) {
    this.#path = path;
    this.found = found;
  }

  /** The same collection, with paths below a field. */
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
