import type { ApiObject } from '../../../src/api/kind.ts';

/** A selector as query parameters, and as a predicate. */
export interface Selector {
  readonly query: Readonly<Record<string, string>>;
  readonly matches: (cluster: ApiObject) => boolean;
}

const env = ({ metadata }: ApiObject): string | undefined => metadata.labels?.env;
const tier = ({ metadata }: ApiObject): string | undefined => metadata.labels?.tier;
const version = ({ status }: ApiObject): string => (status as { version?: string } | undefined)?.version ?? '';

const byLabel = (labelSelector: string, matches: Selector['matches']): Selector => ({
  query: { labelSelector },
  matches,
});
const byField = (fieldSelector: string, matches: Selector['matches']): Selector => ({
  query: { fieldSelector },
  matches,
});

export const SELECTORS: readonly Selector[] = [
  { query: {}, matches: () => true },
  byLabel('env=prod', (cluster) => env(cluster) === 'prod'),
  byLabel('env in (prod,dev)', (cluster) => env(cluster) === 'prod' || env(cluster) === 'dev'),
  byLabel('env!=prod', (cluster) => env(cluster) !== 'prod'),
  byLabel('!env', (cluster) => env(cluster) === undefined),
  byLabel('tier=1,env notin (dev)', (cluster) => tier(cluster) === '1' && env(cluster) !== 'dev'),
  byLabel('tier=1,env=prod', (cluster) => tier(cluster) === '1' && env(cluster) === 'prod'),
  byField('metadata.name=b', ({ metadata }) => metadata.name === 'b'),
  byField('metadata.name!=b', ({ metadata }) => metadata.name !== 'b'),
  byField('status.version=v1', (cluster) => version(cluster) === 'v1'),
  {
    query: { labelSelector: 'env', fieldSelector: 'status.version!=v1' },
    matches: (cluster) => env(cluster) !== undefined && version(cluster) !== 'v1',
  },
];
