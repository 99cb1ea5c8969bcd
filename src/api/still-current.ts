/** What can be told at a glance to be what it was. */
export interface Current {
  /** False once something else has taken its place, or it is gone. */
  readonly isCurrent: boolean;
}

/**
 * What was found for somebody who asks again and again: good for as long as all of it is current, and looked up anew after that.
 * Only what was found can be remembered: of what is missing nobody can tell at a glance that it still is.
 */
export class StillCurrent<Asker extends object, Found extends readonly Current[]> {
  readonly #found = new WeakMap<Asker, Found>();

  get(asker: Asker): Found | undefined {
    const found = this.#found.get(asker);
    if (found === undefined || found.every(isCurrent)) return found;
    this.#found.delete(asker);
    return undefined;
  }

  set(asker: Asker, found: Found): void {
    this.#found.set(asker, found);
  }
}

const isCurrent = ({ isCurrent }: Current): boolean => isCurrent;
