import { requestText } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { compareRequests, type Settings, type TableRow } from '../support/compare.ts';
import { Driver } from '../support/driver.ts';
import { checkedList, listWorks } from '../support/lists.ts';
import { startFleetServer, startFloor } from '../support/processes.ts';
import type { Report } from '../support/report.ts';

const CLUSTERS = 10_000;
/** Items that each side writes before the first round, twice. Ten of the longest lists are enough. */
const WARM_UP_ITEMS = 2_000_000;
/** Most of a short list is the code of any request, which V8 goes on compiling for tens of thousands of them. */
const SHORT_LIST = { items: 200, warmUp: 40_000 };

/** Lists of clusters in the public view, out of 10,000 clusters of 2.6 KB each. */
export async function benchList(settings: Settings): Promise<Report> {
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 1_000 }));
  const driver = new Driver();
  const rows: TableRow[] = [];
  for (const work of Object.values(listWorks(CLUSTERS))) {
    const floor = await startFloor('bytes', await checkedList(server, work));
    const { name, path, items, connections } = work;
    rows.push(
      await compareRequests(
        {
          name,
          unit: 'lists',
          about: `GET ${path} on ${connections} connections gives ${items} clusters. The floor writes the same bytes.`,
          goal: { cpuShare: 0.7 },
        },
        {
          driver,
          server,
          floor,
          work: { requests: { same: requestText('GET', path, work) }, connections },
          settings,
          warmUp: items <= SHORT_LIST.items ? SHORT_LIST.warmUp : Math.max(10, Math.round(WARM_UP_ITEMS / items)),
        },
      ),
    );
    await floor.end();
  }
  return { rows };
}
