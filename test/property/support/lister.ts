import { expect } from 'vitest';
import type { ApiObject } from '../../../src/api/kind.ts';
import { ApiError } from '../../../src/api/status.ts';
import type { Looking, Scene } from './history.ts';
import type { House } from './house.ts';
import type { Model } from './model.ts';

interface Page extends Looking {
  readonly items: readonly ApiObject[];
  readonly remaining: number | undefined;
  readonly continue: string;
  readonly revision: number;
  /** The last name of the page before. */
  readonly after: string;
  /** 0: everything. */
  readonly limit: number;
  /** The rules in force when it was answered. */
  readonly rulesOf: number;
}

interface OpenList extends Looking {
  readonly limit: number;
  readonly token: string;
  readonly after: string;
  /** Undefined: its own is gone, and the next page is of the newest state. */
  readonly revision: number | undefined;
}

type ListScene = Extract<Scene, { scene: 'list' }>;

/** Asks for lists and pages, remembers the answers, and compares them all with the model at the end. */
export class Lister {
  readonly #house: House;
  readonly #pages: Page[] = [];
  readonly #open: OpenList[] = [];

  constructor(house: House) {
    this.#house = house;
  }

  /** While others write. Objects, revision and rules must still be of one moment. */
  async listMeanwhile(looking: Looking): Promise<void> {
    const before = await this.#house.store.revision();
    const page = await this.#ask(looking, { limit: 0, after: '' }, {});
    expect(page.revision).toBeGreaterThanOrEqual(before);
    this.#pages.push({ ...page, rulesOf: page.revision });
  }

  /** The first page. False when there is no second. */
  async list(scene: ListScene, first: number): Promise<boolean> {
    const { reader, catalog } = this.#house;
    const now = reader.revision;
    const revision = first + (scene.back % (now - first + 1));
    const query = {
      newest: {},
      any: { resourceVersion: '0' },
      'not-older': { resourceVersion: String(revision), resourceVersionMatch: 'NotOlderThan' },
      exact: { resourceVersion: String(revision), resourceVersionMatch: 'Exact' },
    }[scene.version];
    // L-24: from whatever is at hand, the list is whole.
    const limit = scene.version === 'any' ? 0 : scene.limit;
    const isGone = scene.version === 'exact' && revision < reader.cache(catalog.clusters).windowStart;
    try {
      const page = await this.#ask(scene, { limit, after: '' }, { ...query, limit: String(scene.limit) });
      expect(isGone).toBe(false);
      expect(page.revision).toBe(scene.version === 'exact' ? revision : now);
      return this.#take({ ...page, rulesOf: now });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status.code !== 410) throw error;
      expect(isGone).toBe(true);
      return false;
    }
  }

  /** The next page of a list that was left open: the one chosen, or the last. False when none follows. */
  async continue(which: number | 'last'): Promise<boolean> {
    const [list] = this.#open.splice(which === 'last' ? -1 : which % Math.max(this.#open.length, 1), 1);
    if (list === undefined) return false;
    const { reader, catalog } = this.#house;
    const now = reader.revision;
    const isGone = list.revision !== undefined && list.revision < reader.cache(catalog.clusters).windowStart;
    try {
      const page = await this.#ask(list, list, { limit: String(list.limit), continue: list.token });
      expect(isGone).toBe(false);
      expect(page.revision).toBe(list.revision ?? now);
      return this.#take({ ...page, rulesOf: now });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status.code !== 410) throw error;
      expect(isGone).toBe(true);
      const token = error.status.metadata.continue;
      expect(token).toBeTypeOf('string');
      this.#open.push({ ...list, token: token as string, revision: undefined });
      return true;
    }
  }

  #take(page: Page): boolean {
    this.#pages.push(page);
    if (page.continue === '') return false;
    const { caller, selector, alwaysPublic, limit, revision } = page;
    const after = page.items.at(-1)?.metadata.name ?? '';
    this.#open.push({ caller, selector, alwaysPublic, limit, revision, after, token: page.continue });
    return true;
  }

  async #ask(
    { caller, selector, alwaysPublic }: Looking,
    { limit, after }: { limit: number; after: string },
    query: Record<string, string>,
  ): Promise<Omit<Page, 'rulesOf'>> {
    const { catalog } = this.#house;
    const answer = await this.#house.ask({
      caller,
      verb: 'list',
      kind: catalog.clusters,
      alwaysPublic,
      query: { ...selector.query, ...query },
    });
    if (answer.type !== 'list') throw new Error(`a list is answered with a ${answer.type}`);
    const metadata = answer.metadata as { continue: string; remainingItemCount?: number; resourceVersion: string };
    return {
      caller,
      selector,
      alwaysPublic,
      limit,
      after,
      items: answer.items.map((item) => JSON.parse(Buffer.from(item).toString()) as ApiObject),
      remaining: metadata.remainingItemCount,
      continue: metadata.continue,
      revision: Number(metadata.resourceVersion),
    };
  }

  /** Every page is what a look at everything gives: these items, in this order, and so many left. */
  verify(model: Model): void {
    for (const page of this.#pages) {
      const { caller, selector, revision, rulesOf, after, limit, alwaysPublic } = page;
      // What was visible in that state and, if it is still there, has not moved out of reach since.
      const stillMay = (verb: 'list' | 'update', { metadata }: ApiObject): boolean => {
        const now = model.cluster(metadata.name ?? '', rulesOf);
        return now === undefined || model.may(caller, verb, now, rulesOf);
      };
      const all = model
        .visible(caller, 'list', selector, revision, rulesOf)
        .filter((cluster) => (cluster.metadata.name ?? '') > after && stillMay('list', cluster));
      const expected = limit === 0 ? all : all.slice(0, limit);
      expect(page.items).toEqual(
        expected.map((cluster) =>
          !alwaysPublic && model.may(caller, 'update', cluster, rulesOf) && stillMay('update', cluster)
            ? cluster
            : this.#house.publicView(cluster),
        ),
      );
      const left = all.length - expected.length;
      expect(page.remaining).toBe(left === 0 ? undefined : left);
      expect(page.continue === '').toBe(left === 0);
    }
  }
}
