import { call, expectEqual, must, requestText } from './support/client.ts';
import { compareRequests, type Row, type Settings } from './support/compare.ts';
import { FEW, NARROW, READER } from './support/fleet.ts';
import { type Desk, Driver, startDesk, startFloor } from './support/processes.ts';
import type { Report } from './support/report.ts';

const LIST = '/auth/v1/clusters';
const CLUSTERS = 10_000;

export interface ListWork {
  readonly name: string;
  readonly path: string;
  readonly token: string;
  readonly items: number;
  readonly connections: number;
}

/** The lists that are asked for, in a fleet of this size. */
export const listWorks = (clusters: number): readonly ListWork[] => [
  { name: 'list of all', path: LIST, token: READER.token, items: clusters, connections: 2 },
  {
    name: 'page of 500',
    path: `${LIST}?limit=500`,
    token: READER.token,
    items: Math.min(500, clusters),
    connections: 8,
  },
  {
    name: 'selector, 200',
    path: `${LIST}?labelSelector=picked%3Dyes`,
    token: READER.token,
    items: FEW,
    connections: 8,
  },
  { name: "a caller's own 200", path: LIST, token: NARROW.token, items: FEW, connections: 8 },
];

interface ClusterList {
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: Record<string, unknown> }[];
}

/** The answer, once it is known to be right: as many as there should be, in order, and nothing sensitive in them. */
export async function checkedList(desk: Desk, { name, path, token, items }: ListWork): Promise<Buffer> {
  const { code, body } = await call(desk, 'GET', path, { token });
  const list = await must<ClusterList>(Promise.resolve({ code, body }));
  const names = list.items.map(({ metadata }) => metadata.name);
  expectEqual(`${name}: items`, names.length, items);
  expectEqual(`${name}: order`, names, names.toSorted());
  expectEqual(
    `${name}: fields of spec`,
    [...new Set(list.items.flatMap(({ spec }) => Object.keys(spec)))],
    ['orchestratorApiEndpoints'],
  );
  return body;
}

export async function benchList(settings: Settings): Promise<Report> {
  const desk = await startDesk({ clusters: CLUSTERS, bindings: 1_000 });
  const driver = new Driver();
  const rows: Row[] = [];
  for (const work of listWorks(CLUSTERS)) {
    const floor = await startFloor('bytes', await checkedList(desk, work));
    rows.push(
      await compareRequests(
        { name: work.name, unit: 'lists', goal: { share: 0.7 } },
        {
          driver,
          desk,
          floor,
          work: { request: [requestText('GET', work.path, work)], connections: work.connections },
          settings,
          // Thousands of the short ones: the compiler goes on for as long, in threads whose time counts.
          warmUp: Math.max(10, Math.round(1_000_000 / work.items)),
        },
      ),
    );
    await floor.end();
  }
  return { rows };
}
