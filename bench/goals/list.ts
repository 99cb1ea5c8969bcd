import { requestText } from '../support/client.ts';
import { checkedList, clusterFleet, listWorks } from '../support/cluster-fleet.ts';
import { Driver } from '../support/driver.ts';
import { compareRequests, type Figure, type Settings } from '../support/measure.ts';
import { startFleetServer, startFloor } from '../support/processes.ts';

const CLUSTERS = 10_000;
/** Items that each side writes before the first round, twice. Ten of the longest lists are enough. */
const WARM_UP_ITEMS = 2_000_000;
/** Most of a short list is the code of any request, which V8 goes on compiling for tens of thousands of them. */
const SHORT_LIST = { items: 200, warmUp: 40_000 };

/** Lists in the public view, out of 10,000 clusters of 2.6 KB each. The floor writes the same bytes. */
export async function run(settings: Settings): Promise<Figure[]> {
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 1_000 }));
  const driver = new Driver();
  const figures: Figure[] = [];
  for (const list of Object.values(listWorks(CLUSTERS))) {
    const floor = await startFloor('bytes', await checkedList(server, list));
    const { name, path, items, connections } = list;
    const work = { requests: { same: requestText('GET', path, list) }, connections };
    const long = Math.max(10, Math.round(WARM_UP_ITEMS / items));
    const warmUp = items <= SHORT_LIST.items ? SHORT_LIST.warmUp : long;
    const sides = { driver, server, floor, work, settings, warmUp };
    figures.push(await compareRequests(name, 0.7, sides));
    await floor.end();
  }
  return figures;
}
