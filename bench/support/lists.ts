import { call, expectEqual, expectSuccess } from './client.ts';
import { LABELLED, LIMITED_READER, READER } from './cluster-fleet.ts';
import type { FleetServer } from './processes.ts';

export const LIST = '/auth/v1/clusters';

/** A list of clusters in their public view. */
export interface ListWork {
  readonly name: string;
  readonly path: string;
  readonly token: string;
  readonly items: number;
  readonly connections: number;
}

/** The lists that the benchmarks request, in a fleet with so many clusters. */
export function listWorks(clusters: number): Record<'all' | 'page' | 'selector' | 'limited', ListWork> {
  const { token } = READER;
  return {
    all: { name: 'list of all clusters', path: LIST, token, items: clusters, connections: 2 },
    page: {
      name: 'page of 500 clusters',
      path: `${LIST}?limit=500`,
      token,
      items: Math.min(500, clusters),
      connections: 8,
    },
    selector: {
      name: 'label selector, 200 clusters',
      path: `${LIST}?labelSelector=picked%3Dyes`,
      token,
      items: LABELLED,
      connections: 8,
    },
    limited: {
      name: 'caller who sees 200 clusters',
      path: LIST,
      token: LIMITED_READER.token,
      items: LABELLED,
      connections: 8,
    },
  };
}

interface ClusterList {
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: Record<string, unknown> }[];
}

/** The body of the response, after a check that it has the right number of clusters, sorted, in the public view. */
export async function checkedList(server: FleetServer, { name, path, token, items }: ListWork): Promise<Buffer> {
  const response = await call(server, 'GET', path, { token });
  const list = await expectSuccess<ClusterList>(Promise.resolve(response));
  const names = list.items.map(({ metadata }) => metadata.name);
  expectEqual(`${name}: items`, names.length, items);
  expectEqual(`${name}: order`, names, names.toSorted());
  expectEqual(
    `${name}: fields of spec`,
    [...new Set(list.items.flatMap(({ spec }) => Object.keys(spec)))],
    ['orchestratorApiEndpoints'],
  );
  return response.body;
}
