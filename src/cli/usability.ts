import { usabilitySteps } from '../api/clusters/usability.ts';
import type { Client } from '../client/create-client.ts';
import { usabilityFacts } from '../client/usability.ts';
import { publicCluster } from './clusters.ts';
import { renderTable } from './output/printer.ts';

/** What is left to do until the cluster can be used, with the commands; `""` if nothing is. */
export async function whatIsLeft(client: Client, name: string): Promise<string> {
  const cluster = await publicCluster(client, name);
  const steps = cluster === undefined ? [] : usabilitySteps(await usabilityFacts(client, cluster));
  if (steps.every(({ done }) => done === true)) return '';
  const rows = steps.flatMap(({ title, done, note, command }) => [
    [`  ${title}:`, done === undefined ? 'not known' : done ? 'yes' : 'no', note],
    ...(done === true ? [] : [['', '', command]]),
  ]);
  return `Until it can be used:\n${renderTable(rows)}`;
}
