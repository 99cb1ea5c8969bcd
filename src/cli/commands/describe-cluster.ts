import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { usabilitySteps } from '../../api/clusters/usability.ts';
import { exactDuration, humanAge } from '../../api/codec/go-text/human-duration.ts';
import { CLUSTER_GROUP, controllerOf } from '../../api/kinds/cluster-spec.ts';
import type { Connector, ConnectorStatus } from '../../api/kinds/connector.ts';
import { reviewAccess, reviewSelf } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { endpointsInForce } from '../../client/types.ts';
import { usabilityFacts } from '../../client/usability.ts';
import { terminalSafe } from '../../lib/text.ts';
import { isPublicView, publicCluster } from '../clusters.ts';
import type { Context, Run } from '../command.ts';
import { connectAll } from '../connection/all-servers.ts';
import { renderTable } from '../output/printer.ts';
import { clusterReferences, findClusters, fullClusters, type LocatedCluster } from '../select-clusters.ts';
import { whyAllowed } from './auth.ts';

/** Without `--server`, of all servers with a login. */
export const run: Run = async (context, invocation) => {
  const servers = await connectAll(context, invocation);
  const references = clusterReferences(invocation.args, servers);
  const { found, isWhole } = await findClusters(context, servers, { references }, fullClusters());
  for (const [at, located] of found.entries()) {
    const text = await describe(context, located);
    context.out.write(at > 0 ? `\n\n${text}` : text);
  }
  return isWhole ? 0 : 1;
};

/** Undefined without one, and for a user who may not see it. */
async function connectorOf(client: Client, name: string): Promise<Connector | undefined> {
  const options = { expects: 'items', query: { fieldSelector: `metadata.name=${name}` } } as const;
  try {
    const { value } = await client.request<{ items: Connector[] }>('GET', CONNECTORS, options);
    return value.items[0];
  } catch (error) {
    if (isStatus(error, 403) || isStatus(error, 404)) return undefined;
    throw error;
  }
}

const CONNECTORS = '/apis/clusterpass.dev/v1alpha1/connectors';

async function whyVisible(client: Client, name: string): Promise<string> {
  const status = await reviewAccess(client, undefined, {
    resourceAttributes: { verb: 'get', group: CLUSTER_GROUP, resource: 'clusters', name },
  });
  if (status.allowed !== true) return status.reason || 'you may list it, but not get it';
  return whyAllowed(status, async () => (await reviewSelf(client)).status?.userInfo?.groups ?? []);
}

/** The list must not push the rest of the description off the screen. */
const MAX_ACCOUNTS = 20;

/** What kubectl does not describe either, because it holds whole manifests, and what is printed separately. */
const isHidden = (key: string): boolean =>
  key.startsWith('kubectl.kubernetes.io/') || Object.values<string>(COMPUTED_ANNOTATIONS).includes(key);

/** `cluster` has all fields, as `get clusters -o yaml` prints them. */
async function describe(context: Context, { server, cluster }: LocatedCluster): Promise<string> {
  const { client } = server;
  const { name, uid, labels = {}, annotations = {}, creationTimestamp } = cluster.metadata;
  const [listed, reason, accounts, connector, left] = await Promise.all([
    publicCluster(client, name),
    whyVisible(client, name),
    client.usableAccounts(name),
    connectorOf(client, name),
    // For those who may do something about it: others see the public view.
    isPublicView(cluster) ? '' : whatIsLeft(client, name),
  ]);
  // Issuer, audience and maximum lifetime, which only the public view has.
  const computed = listed?.metadata.annotations ?? {};
  const { serverEndpoints = [], caBundle } = endpointsInForce(cluster);
  const { type, version, conditions = [] } = cluster.status ?? {};
  const age = (time: string | undefined): string => humanAge(time ?? null, context.now());
  const own = Object.entries(annotations).filter(([key]) => !isHidden(key));
  const credential = controllerOf(cluster);
  const seconds = Number(computed[COMPUTED_ANNOTATIONS.maxExpiration]);
  const facts = [
    ['Name:', name],
    ...(server.isOneOfSeveral ? [['Server:', `${server.name} (${server.connection.server})`]] : []),
    ['UID:', uid],
    ...pairs('Labels:', Object.entries(labels), '='),
    ...pairs('Annotations:', own, ': '),
    ['Created:', `${creationTimestamp ?? '<unknown>'} (${age(creationTimestamp)} ago)`],
    ['Type:', type || '<none>'],
    ['Version:', version || '<none>'],
    ['Issuer:', computed[COMPUTED_ANNOTATIONS.issuer] ?? connector?.spec?.issuer ?? '<unknown>'],
    ['Default audience:', computed[COMPUTED_ANNOTATIONS.audience] ?? '<unknown>'],
    ['Longest lifetime:', Number.isInteger(seconds) ? `${exactDuration(seconds)} (${seconds} seconds)` : '<unknown>'],
    ['CA bundle:', caBundle === undefined ? '<none>' : `${Buffer.from(caBundle, 'base64').length} bytes`],
    ...(credential === undefined ? [] : [['Credential:', `${credential.namespace}/${credential.name}`]]),
    ...(connector === undefined ? [] : connectorFacts(connector.status ?? {}, age)),
    ['Visible because:', reason],
  ];
  const endpoints = serverEndpoints.map(({ clientCIDR = '', serverAddress = '' }) => [
    clientCIDR || '*',
    serverAddress,
  ]);
  const states = conditions.map((condition) => [
    condition.type ?? '',
    condition.status ?? '',
    age(condition.lastHeartbeatTime),
    age(condition.lastTransitionTime),
    condition.reason ?? '',
    condition.message ?? '',
  ]);
  const shownAccounts = accounts.items.slice(0, MAX_ACCOUNTS).map((account) => [account.namespace, account.name]);
  return [
    renderTable(facts),
    section('Endpoints:', ['Client network', 'Address'], endpoints),
    section('Conditions:', ['Type', 'Status', 'Heartbeat', 'Changed', 'Reason', 'Message'], states),
    left,
    section('Usable accounts:', ['Namespace', 'Name'], shownAccounts),
    accounts.items.length > MAX_ACCOUNTS || accounts.incomplete
      ? `  (more: clusterpass get accounts --cluster ${terminalSafe(name)})\n`
      : '',
  ].join('');
}

function section(title: string, names: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return renderTable([[title, '<none>']]);
  const lines = [names, names.map((name) => '-'.repeat(name.length)), ...rows];
  return `${title}\n${renderTable(lines.map(([first, ...others]) => [`  ${first}`, ...others]))}`;
}

function connectorFacts(status: ConnectorStatus, age: (time: string | undefined) => string): string[][] {
  const {
    version = '<unknown>',
    connectedSince,
    renewTime,
    lastOrderTime,
    revocable,
    people = [],
    allow = [],
  } = status;
  const issues = [
    ...allow.map(({ namespace, accounts = [], maxSeconds }): [string, string] => [
      `${namespace}/${accounts.join(',')}`,
      maxSeconds === undefined ? '' : ` (at most ${exactDuration(maxSeconds)})`,
    ]),
    ...(people.length === 0 ? [] : [[`people of ${people.join(', ')}`, ''] as const]),
  ];
  return [
    ['Connector:', `version ${version}, ${revocable === true ? 'its tokens can be revoked' : 'without revocation'}`],
    ['  Connected:', `since ${connectedSince ?? '<unknown>'}, last report ${age(renewTime)} ago`],
    ['  Last order:', lastOrderTime === undefined ? '<none>' : `${age(lastOrderTime)} ago`],
    ...pairs('  May issue:', issues, ''),
  ];
}

/** One line per pair, with the title on the first. */
function pairs(title: string, entries: readonly (readonly [string, string])[], sign: string): string[][] {
  if (entries.length === 0) return [[title, '<none>']];
  return entries.map(([key, value], index) => [index === 0 ? title : '', `${key}${sign}${value}`]);
}

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
