import type { Catalog } from '../../api/catalog.ts';
import { toJson } from '../../api/codec/encode.ts';
import { toYaml } from '../../api/codec/to-yaml.ts';
import { notAcceptable } from '../../api/status.ts';
import { aggregatedDocuments, legacyDocuments } from '../../handlers/discovery/documents.ts';
import { type Realm, servedVersions } from '../../handlers/discovery/served-resources.ts';
import { type AcceptClause, acceptsType, parseAccept, WRITABLE_NAMES } from '../request/negotiate.ts';
import { entityTag, type TaggedBytes, tagged, unlessKnown } from '../response/entity-tag.ts';
import type { RawAnswer } from '../response/respond.ts';
import type { PathRequest, PathRoute, PathRoutes } from './routes.ts';

const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** One path of discovery. Both forms are generated once: what is served does not change while the program runs. */
interface Document {
  readonly legacy: object;
  /** Only `/api` and `/apis` have it. */
  readonly aggregated: TaggedBytes | undefined;
}

/**
 * `/api`, `/apis` and the paths below them, at the fleet and below the prefix of a cluster. The answer is the same for
 * every cluster, also for one that does not exist.
 */
export function discoveryRoutes(catalog: Catalog): PathRoutes {
  const realms: Readonly<Record<Realm, ReadonlyMap<string, PathRoute>>> = {
    fleet: routesOf(catalog, 'fleet'),
    cluster: routesOf(catalog, 'cluster'),
  };
  return { find: ({ cluster, path }) => realms[cluster === undefined ? 'fleet' : 'cluster'].get(path) };
}

function routesOf(catalog: Catalog, realm: Realm): ReadonlyMap<string, PathRoute> {
  const versions = servedVersions(catalog, realm);
  const aggregated = aggregatedDocuments(versions);
  return new Map(
    [...legacyDocuments(versions)].map(([path, legacy]) => {
      const whole = aggregated.get(path);
      const bytes = whole === undefined ? undefined : tagged(Buffer.from(`${toJson(whole)}\n`), 'sha512');
      const document = { legacy, aggregated: bytes };
      return [path, { public: false, handle: (request) => answer(document, request) }];
    }),
  );
}

type Form = 'aggregated' | 'json' | 'yaml';

function answer({ legacy, aggregated }: Document, request: PathRequest): ReturnType<PathRoute['handle']> {
  switch (formFor(request.accept, aggregated !== undefined)) {
    case 'aggregated':
      return aggregated === undefined ? json(legacy) : aggregatedAnswer(aggregated, request);
    case 'json':
      return json(legacy);
    case 'yaml':
      return { type: 'raw', code: 200, headers: { 'Content-Type': 'application/yaml' }, body: toYaml(legacy) };
    default:
      throw notAcceptable(WRITABLE_NAMES);
  }
}

const json = (value: object): ReturnType<PathRoute['handle']> => ({ type: 'value', code: 200, value });

/** */
function aggregatedAnswer(document: TaggedBytes, request: PathRequest): RawAnswer {
  return unlessKnown(document, request.ifNoneMatch, {
    'Content-Type': AGGREGATED_TYPE,
    'Cache-Control': 'public',
    ETag: entityTag(document),
    Vary: 'Accept',
  });
}

/** the first clause that can be met; one that asks for an unknown form is passed over (N-07). */
function formFor(accept: string | undefined, hasAggregated: boolean): Form | undefined {
  if (accept === undefined || accept === '') return 'json';
  for (const clause of parseAccept(accept)) {
    const isJson = acceptsType(clause, 'application/json');
    if (isConverted(clause)) {
      if (isJson && hasAggregated && asksForAggregated(clause)) return 'aggregated';
      continue;
    }
    if (isJson) return 'json';
    if (acceptsType(clause, 'application/yaml')) return 'yaml';
  }
  return undefined;
}

const isConverted = ({ params }: AcceptClause): boolean => params.has('g') || params.has('v') || params.has('as');

const asksForAggregated = ({ params }: AcceptClause): boolean =>
  params.get('g') === 'apidiscovery.k8s.io' && params.get('v') === 'v2' && params.get('as') === 'APIGroupDiscoveryList';
