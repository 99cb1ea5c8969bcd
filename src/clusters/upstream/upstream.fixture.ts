import type { Pair } from './certificates.fixture.ts';
import type { UpstreamCluster, UpstreamRequest } from './upstream-contract.ts';

export const bundle = ({ cert }: Pair): string => Buffer.from(cert).toString('base64');

/** A cluster at this port, with its own identity. */
export const clusterAt = (port: number, ca: Pair, host = 'api.example.com'): UpstreamCluster => ({
  name: 'alpha',
  uid: `uid-${port}-${host}`,
  generation: 1,
  endpoints: { serverEndpoints: [{ serverAddress: `https://${host}:${port}` }], caBundle: bundle(ca) },
  controller: { namespace: 'fleet', name: 'alpha' },
  confirmed: true,
});

export const ask = (changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  method: 'GET',
  path: '/readyz',
  credential: false,
  timeoutMs: 5_000,
  ...changes,
});
