import { expect } from 'vitest';
import type { ApiObject } from '../../../src/api/kind.ts';
import { ApiError } from '../../../src/api/status.ts';
import type { ApiCore } from './api-core.ts';
import type { Step, Viewer } from './history.ts';
import type { Model } from './model.ts';

interface Page extends Viewer {
  readonly items: readonly ApiObject[];
  readonly remaining: number | undefined;
  readonly continue: string;
  readonly revision: number;
  /** The last name of the page before. */
  readonly after: string;
  /** 0: no limit. */
  readonly limit: number;
  /** The revision of the rules that applied to the response. */
  readonly rulesOf: number;
}

interface OpenList extends Viewer {
  readonly limit: number;
  readonly token: string;
  readonly after: string;
  /** Undefined when the list's revision has expired: the next page is of the newest state. */
  readonly revision: number | undefined;
}

type ListStep = Extract<Step, { step: 'list' }>;

/** Requests lists and pages, records the responses, and compares all of them with the model at the end. */
export class ListingClient {
  readonly #core: ApiCore;
  readonly #pages: Page[] = [];
  readonly #open: OpenList[] = [];

  constructor(core: ApiCore) {
    this.#core = core;
  }

  /** Lists during concurrent writes. Objects, revision and rules must be of one revision. */
  async listConcurrently(viewer: Viewer): Promise<void> {
    const before = await this.#core.store.revision();
    const page = await this.#request(viewer, { limit: 0, after: '' }, {});
    expect(page.revision).toBeGreaterThanOrEqual(before);
    this.#pages.push({ ...page, rulesOf: page.revision });
  }

  /** The first page. False when there is no second. */
  async list(step: ListStep, first: number): Promise<boolean> {
    const { reader, catalog } = this.#core;
    const now = reader.revision;
    const revision = first + (step.back % (now - first + 1));
    const query = {
      newest: {},
      any: { resourceVersion: '0' },
      'not-older': { resourceVersion: String(revision), resourceVersionMatch: 'NotOlderThan' },
      exact: { resourceVersion: String(revision), resourceVersionMatch: 'Exact' },
    }[step.version];
    // L-24: a list with resourceVersion=0 ignores the limit.
    const limit = step.version === 'any' ? 0 : step.limit;
    const isGone = step.version === 'exact' && revision < reader.cache(catalog.clusters).windowStart;
    const areRulesGone = step.version === 'exact' && this.#areRulesGone(revision);
    try {
      const page = await this.#request(step, { limit, after: '' }, { ...query, limit: String(step.limit) });
      expect(isGone).toBe(false);
      expect(page.revision).toBe(step.version === 'exact' ? revision : now);
      return this.#record({ ...page, rulesOf: now });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status.code !== 410) throw error;
      expect(isGone || areRulesGone).toBe(true);
      return false;
    }
  }

  /** The next page of an open list. False when no page follows. */
  async continue(which: number | 'last'): Promise<boolean> {
    const [list] = this.#open.splice(which === 'last' ? -1 : which % Math.max(this.#open.length, 1), 1);
    if (list === undefined) return false;
    const { reader, catalog } = this.#core;
    const now = reader.revision;
    const isGone = list.revision !== undefined && list.revision < reader.cache(catalog.clusters).windowStart;
    const areRulesGone = list.revision !== undefined && this.#areRulesGone(list.revision);
    try {
      const page = await this.#request(list, list, { limit: String(list.limit), continue: list.token });
      expect(isGone).toBe(false);
      expect(page.revision).toBe(list.revision ?? now);
      return this.#record({ ...page, rulesOf: now });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status.code !== 410) throw error;
      expect(isGone || areRulesGone).toBe(true);
      const token = error.status.metadata.continue;
      expect(token).toBeTypeOf('string');
      this.#open.push({ ...list, token: token as string, revision: undefined });
      return true;
    }
  }

  /** Whether rules have changed since the revision: they are not known any more. */
  #areRulesGone(revision: number): boolean {
    const { reader, catalog } = this.#core;
    return [catalog.clusterRoles, catalog.fleetRoleBindings].some((kind) => {
      const cache = reader.cache(kind);
      return revision < cache.windowStart || cache.lastEventRevision > revision;
    });
  }

  #record(page: Page): boolean {
    this.#pages.push(page);
    if (page.continue === '') return false;
    const { caller, selector, alwaysPublic, limit, revision } = page;
    const after = page.items.at(-1)?.metadata.name ?? '';
    this.#open.push({ caller, selector, alwaysPublic, limit, revision, after, token: page.continue });
    return true;
  }

  async #request(
    { caller, selector, alwaysPublic }: Viewer,
    { limit, after }: { limit: number; after: string },
    query: Record<string, string>,
  ): Promise<Omit<Page, 'rulesOf'>> {
    const { catalog } = this.#core;
    const response = await this.#core.request({
      caller,
      verb: 'list',
      kind: catalog.clusters,
      alwaysPublic,
      query: { ...selector.query, ...query },
    });
    if (response.type !== 'list') throw new Error(`unexpected response: ${response.type}`);
    const metadata = response.metadata as { continue: string; remainingItemCount?: number; resourceVersion: string };
    return {
      caller,
      selector,
      alwaysPublic,
      limit,
      after,
      items: response.items.map((item) => JSON.parse(Buffer.from(item).toString()) as ApiObject),
      remaining: metadata.remainingItemCount,
      continue: metadata.continue,
      revision: Number(metadata.resourceVersion),
    };
  }

  /** Every page has the items of the model, in their order, and the right remainingItemCount. */
  verify(model: Model): void {
    for (const page of this.#pages) {
      const { caller, selector, revision, rulesOf, after, limit, alwaysPublic } = page;
      // A cluster must have been visible at the revision by the rules of then, and, if it exists, must be visible now.
      const couldAndMay = (verb: 'list' | 'update', cluster: ApiObject): boolean => {
        const now = model.cluster(cluster.metadata.name ?? '', rulesOf);
        const mayNow = now === undefined || model.may(caller, verb, now, rulesOf);
        return model.may(caller, verb, cluster, revision) && mayNow;
      };
      const all = model
        .visible(caller, 'list', selector, revision, rulesOf)
        .filter((cluster) => (cluster.metadata.name ?? '') > after && couldAndMay('list', cluster));
      const expected = limit === 0 ? all : all.slice(0, limit);
      expect(page.items).toEqual(
        expected.map((cluster) =>
          !alwaysPublic && model.may(caller, 'update', cluster, rulesOf) && couldAndMay('update', cluster)
            ? cluster
            : this.#core.publicView(cluster),
        ),
      );
      const left = all.length - expected.length;
      expect(page.remaining).toBe(left === 0 ? undefined : left);
      expect(page.continue === '').toBe(left === 0);
    }
  }
}
