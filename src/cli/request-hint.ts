import { NEEDS_APPROVAL } from '../api/decision.ts';
import { type ResourceAttributes, reviewAccess } from '../client/access-reviews.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import type { TokenOptions } from '../client/types.ts';
import { terminalSafe } from '../lib/text.ts';

// Not from api/kinds/, which loads the schemas of kinds: `create token` starts fast.
const GROUP = 'clusterpass.dev';

/** How to ask for the passes of an account that the caller may not get; undefined if it may not ask either. */
export async function requestHint(
  client: Client,
  { cluster, namespace, name }: Pick<TokenOptions, 'cluster' | 'namespace' | 'name'>,
  error: unknown,
): Promise<string | undefined> {
  if (!isStatus(error, 403)) return undefined;
  // The refusal says how to ask, and needs no second way.
  if (error.message.includes(NEEDS_APPROVAL)) return undefined;
  const may = async (attributes: Pick<ResourceAttributes, 'group' | 'resource' | 'subresource' | 'name'>) => {
    const review = reviewAccess(client, cluster, { resourceAttributes: { verb: 'create', namespace, ...attributes } });
    // The refusal is what matters: it is printed also if this fails.
    return (await review.catch(() => undefined))?.allowed;
  };
  const [mayIssue, mayAsk] = await Promise.all([
    may({ resource: 'serviceaccounts', subresource: 'token', name }),
    may({ group: GROUP, resource: 'accessrequests' }),
  ]);
  // A caller with the permission was refused for another reason, e.g. a quota.
  if (mayIssue !== false || mayAsk !== true) return undefined;
  const account = terminalSafe(`${namespace}/${name}`);
  return `Ask for it: clusterpass request create --cluster ${terminalSafe(cluster)} --account ${account} --reason '...'`;
}
