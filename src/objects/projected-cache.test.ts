import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { type Kind, kindPrefix } from '../api/kind.ts';
import { WatchCache } from '../storage/watch-cache.ts';
import { isProjected, ProjectedCache } from './projected-cache.ts';
import type { ReadableEvent, ReadableState } from './readable.ts';
import { StoredObject } from './stored-object.ts';

/** Namespaces in an order in which their keys are not: `a-b/` comes before `a/`. */
const NAMESPACES = [
  { name: 'a', matches: () => true },
  { name: 'a-b', matches: (labels?: Readonly<Record<string, string>>) => labels?.env === 'dev' },
  {
    name: 'b',
    matches: (labels?: Readonly<Record<string, string>>) => labels?.env === 'prod',
    requiredLabel: { key: 'env', value: 'prod' },
  },
  { name: 'c', matches: (_: unknown, cluster: string) => cluster.endsWith('0') },
];
const inventory = { manager: 'm', provider: 'p', properties: [], namespaces: NAMESPACES };
const catalog = createCatalog({ productName: 'orchestrator', inventory });
const [kind] = catalog.projections.filter(isProjected);
if (kind === undefined) throw new Error('there is no projection');
const projected: Kind = kind;
const PREFIX = kindPrefix(projected);
const SOURCE = kindPrefix(catalog.clusters);

interface Facts {
  readonly labels?: Record<string, string>;
  readonly heartbeat?: string;
  readonly endpoints?: readonly (readonly [network: string, address: string])[];
}

class Fleet {
  readonly source = new WatchCache<StoredObject>({
    prefix: SOURCE,
    project: (stored) => new StoredObject(catalog.clusters, stored),
    indexLabels: true,
  });
  readonly cache = new ProjectedCache(kind as NonNullable<typeof kind>, this.source);
  #revision = 0;

  put(name: string, { labels = {}, heartbeat = '', endpoints = [] }: Facts = {}): ReadableEvent[] {
    const object = {
      apiVersion: 'clusterregistry.k8s.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name, uid: `uid-${name}`, labels },
      spec: {
        apiEndpoints: {
          serverEndpoints: endpoints.map(([clientCIDR, serverAddress]) => ({ clientCIDR, serverAddress })),
        },
      },
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: heartbeat }] },
    };
    const modRevision = ++this.#revision;
    const value = Buffer.from(JSON.stringify(object));
    const key = `${SOURCE}${name}`;
    return this.cache.eventsOf(
      this.source.apply({ type: 'put', key, value, modRevision, createRevision: modRevision }),
    );
  }

  remove(name: string): ReadableEvent[] {
    return this.cache.eventsOf(
      this.source.apply({ type: 'delete', key: `${SOURCE}${name}`, modRevision: ++this.#revision }),
    );
  }
}

/** What the state shows by a plain rule: every namespace, every cluster, in the order of keys. */
const expected = (fleet: ReadonlyMap<string, string>, prefix = PREFIX): string[] =>
  NAMESPACES.flatMap(({ name, matches }) =>
    [...fleet].filter(([cluster, env]) => matches({ env }, cluster)).map(([cluster]) => `${PREFIX}${name}/${cluster}`),
  )
    .filter((key) => key.startsWith(prefix))
    .sort();

const keys = (entries: Iterable<{ readonly key: string }>): string[] => [...entries].map(({ key }) => key);
const collected = (fill: (into: Parameters<ReadableState['collectLabel']>[0]) => void): string[] => {
  const into: Parameters<ReadableState['collectLabel']>[0] = [];
  fill(into);
  return keys(into);
};

const names = fc.constantFrom('c1', 'c2', 'c3', 'c10', 'd.x');
const envs = fc.constantFrom('dev', 'prod', 'other');

describe('a projection', () => {
  it('CP-62: shows every object in each namespace that selects it, in the order of keys', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(names, envs)), fc.constantFrom('', 'a/', 'a-b/', 'b/'), (rows, namespace) => {
        const model = new Map(rows);
        const fleet = new Fleet();
        for (const [name, env] of model) fleet.put(name, { labels: { env } });
        const state = fleet.cache.current;
        const prefix = `${PREFIX}${namespace}`;
        const all = expected(model, prefix);
        expect(keys(state.scan(prefix))).toEqual(all);
        for (const [index, after] of all.entries()) {
          expect(keys(state.scan(prefix, after))).toEqual(all.slice(index + 1));
          expect(state.get(after)?.key).toBe(after);
        }
        for (const name of ['c1', 'absent']) {
          const named = all.filter((key) => key.endsWith(`/${name}`));
          expect(collected((into) => state.collectNamed(into, prefix, name))).toEqual(named);
        }
        const ofProd = expected(new Map([...model].filter(([, env]) => env === 'prod')));
        expect(keys(state.withLabel('env', 'prod'))).toEqual(ofProd);
        expect(collected((into) => state.collectLabel(into, 'env', 'prod'))).toEqual(ofProd);
      }),
    );
  });

  it('has past states', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(names, fc.option(envs)), { minLength: 1 }), (changes) => {
        const fleet = new Fleet();
        const model = new Map<string, string>();
        const states: string[][] = [[]];
        for (const [name, env] of changes) {
          if (env !== null) {
            model.set(name, env);
            fleet.put(name, { labels: { env } });
          } else if (model.delete(name)) fleet.remove(name);
          else continue;
          states.push(expected(model));
        }
        for (const [revision, state] of states.entries()) {
          expect(keys(fleet.cache.at(revision)?.scan(PREFIX) ?? [])).toEqual(state);
        }
      }),
    );
  });

  it('CP-62: an object that is no longer selected is deleted there', () => {
    const fleet = new Fleet();
    fleet.put('c1', { labels: { env: 'dev' } });
    const events = fleet.put('c1', { labels: { env: 'prod' } });
    expect(events.map(({ before, after }) => [before?.namespace, after?.namespace])).toEqual([
      ['a-b', undefined],
      ['a', 'a'],
      [undefined, 'b'],
    ]);
  });

  it('CP-63: a heartbeat changes nothing that is shown, a label does', () => {
    const fleet = new Fleet();
    fleet.put('c1', { heartbeat: '1' });
    const [beat] = fleet.put('c1', { heartbeat: '2' });
    expect(beat?.before && beat.after?.showsSameAs(beat.before, '')).toBe(true);
    const [label] = fleet.put('c1', { heartbeat: '2', labels: { team: 'x' } });
    expect(label?.before && label.after?.showsSameAs(label.before, '')).toBe(false);
  });

  it('CP-83: a client gets the address of its network', () => {
    const fleet = new Fleet();
    const endpoints = [
      ['10.0.0.0/8', 'https://inside:6443'],
      ['0.0.0.0/0', 'https://outside:6443'],
    ] as const;
    const [{ after } = {}] = fleet.put('c1', { endpoints });
    const serverFor = (address: string): unknown => {
      const json = JSON.parse(Buffer.from(after?.json('whole', address) ?? []).toString());
      expect(after?.shown('whole', address)).toMatchObject(json);
      return json.status.accessProviders[0].cluster.server;
    };
    expect(['10.1.2.3', '192.0.2.1', ''].map(serverFor)).toEqual([
      'https://inside:6443',
      'https://outside:6443',
      'https://outside:6443',
    ]);
    const [{ before, after: moved } = {}] = fleet.put('c1', {
      endpoints: [endpoints[0], ['0.0.0.0/0', 'https://new']],
    });
    expect(before && moved?.showsSameAs(before, '10.1.2.3')).toBe(true);
    expect(before && moved?.showsSameAs(before, '192.0.2.1')).toBe(false);
  });
});
