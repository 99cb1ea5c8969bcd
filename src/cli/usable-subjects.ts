import type { Client } from '../client/create-client.ts';
import { Slots } from '../lib/slots.ts';

/** Requests at the same time. */
const AT_ONCE = 16;

export interface UsableSubjects {
  /** `namespace/name` of accounts, and `me` for passes as a person: what kubeconfigs call them. */
  readonly subjects: readonly string[];
  /** There may be more accounts. */
  readonly incomplete: boolean;
}

/** Whose passes the caller gets now in each of these clusters. */
export async function usableSubjects(client: Client, clusters: readonly string[]): Promise<UsableSubjects[]> {
  const slots = new Slots(AT_ONCE);
  const people = clusters.map((cluster) => ({ cluster, userpass: true as const }));
  const [own, accounts] = await Promise.all([
    client.createPasses(people, { dryRun: true }),
    Promise.all(clusters.map((cluster) => slots.run(() => client.usableAccounts(cluster)))),
  ]);
  return accounts.map(({ items, incomplete }, at) => ({
    // 422: the pass may have one of several groups only, which --group names.
    subjects: [
      ...([undefined, 422].includes(own[at]?.error?.code) ? ['me'] : []),
      ...items.map(({ namespace, name }) => `${namespace}/${name}`),
    ],
    incomplete,
  }));
}
