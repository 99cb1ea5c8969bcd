import { describe, expect, it } from 'vitest';
import { isDecidedByHandler, isFilteredList } from '../api/authorization.ts';
import { createCatalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import type { ApiRequest, Target, Verb } from '../api/request.ts';
import { Fleet, person } from '../authz/policy/rbac.fixture.ts';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import { createDispatcher } from './dispatch.ts';
import { parseListOptions } from './options/list-options.ts';
import { createViews, selectionFor, type Views } from './views.ts';

/** What the pipeline does not authorize is refused unless a handler is there that does. */

const catalog = createCatalog({ productName: 'clusterpass' });
const kinds = catalog.kinds.filter(({ inCluster }) => !inCluster);

const requestFor = ({ group, version, resource }: Kind, verb: Verb, rest: Partial<ApiRequest> = {}): ApiRequest => {
  const target: Target = {
    verb,
    group,
    version,
    resource,
    subresource: '',
    cluster: undefined,
    namespace: '',
    name: verb === 'list' || verb === 'watch' ? '' : 'x',
    alwaysPublic: false,
  };
  const request = {
    target,
    caller: person('ann'),
    query: new URLSearchParams(),
    accept: { as: 'object' },
    work: lonelyWork(),
  };
  return { ...request, ...rest } as unknown as ApiRequest;
};

describe('a kind whose objects are decided one by one', () => {
  const filtered = kinds.filter((kind) => isFilteredList(requestFor(kind, 'list').target));
  const options = parseListOptions(new URLSearchParams());

  it.each(filtered.map((kind) => [kind.resource, kind] as const))('%s are listed by a rule', (_name, kind) => {
    const views = createViews(catalog, new Fleet().policy, () => 0);
    expect(views.isFiltered(kind)).toBe(true);
    expect(selectionFor(requestFor(kind, 'list'), kind, options, views).rule).toBeDefined();
  });

  it.each(filtered.map((kind) => [kind.resource, kind] as const))('%s are not listed without one', (_name, kind) => {
    const views = { rule: () => undefined } as unknown as Views;
    expect(() => selectionFor(requestFor(kind, 'list'), kind, options, views)).toThrow('no rule filters');
    expect(() => selectionFor(requestFor(kind, 'watch'), kind, options, views)).toThrow('no rule filters');
  });
});

describe('a verb that the handler authorizes', () => {
  const verbs: readonly Verb[] = ['get', 'create', 'delete'];
  const decided = kinds.flatMap((kind) =>
    verbs.filter((verb) => isDecidedByHandler(requestFor(kind, verb).target)).map((verb) => [verb, kind] as const),
  );

  it.each(decided.map(([verb, kind]) => [verb, kind.resource, kind] as const))(
    '%s of %s is refused without one',
    async (verb, _name, kind) => {
      const reader = { findUnreadable: () => undefined };
      const parts = { catalog, reader, verbOverrides: new Map(), completion: () => undefined } as unknown as Parameters<
        typeof createDispatcher
      >[0];
      const dispatch = createDispatcher(parts);
      const resource = { type: 'stored', kind, verbs: new Set(verbs), subresource: '' } as const;
      const object = { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, metadata: { name: 'x' } };
      const sent = verb === 'create' ? JSON.stringify(object) : '';
      const body = { bytes: Buffer.from(sent), mediaType: 'application/json' };
      const request = requestFor(kind, verb, { body, userAgent: '', nameObject: () => {} });
      await expect(async () => dispatch(request, resource)).rejects.toThrow('no handler authorizes');
    },
  );
});
