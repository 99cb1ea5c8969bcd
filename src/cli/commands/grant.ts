import { type ClustersField, clustersOf, clustersText } from '../../api/clusters-field.ts';
import { fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import type { ClusterGrant } from '../../api/kinds/grant-reviews.ts';
import { clusterRoleKind, roleKind } from '../../api/kinds/rbac.ts';
import { hashedName } from '../../api/name-part.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { defined } from '../../lib/json.ts';
import { terminalSafe } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { clusterPath } from '../clusters.ts';
import { type Invocation, type Run, UsageError } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { printerFor } from '../output/printer.ts';
import { absenceOf, objectPath } from '../resources.ts';

type GrantBinding = ReturnType<typeof bindingOf>;

/** Shows what one FleetRoleBinding changes, after a dry run at the server, and writes it with `--apply`. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation);
  const binding = bindingOf(invocation, context.now());
  const { name } = binding.metadata;
  const { roleRef, clusters, namespaces: [namespace] = [] } = binding.spec;
  const client = await connect(context, invocation);
  // The server accepts a binding for what will be created later; here the name is probably wrong.
  const kind = roleRef.kind === 'Role' ? roleKind : clusterRoleKind;
  const absentRole = await absenceOf(client, objectPath(client, kind, { namespace }, roleRef.name));
  if (absentRole !== undefined) throw absentRole;
  for (const name of clusters.names ?? []) {
    const absent = await absenceOf(client, clusterPath(name));
    if (absent !== undefined) throw absent;
  }
  const write = (more: object): Promise<unknown> =>
    client.request('PATCH', objectPath(client, fleetRoleBindingKind, {}, name), {
      query: { fieldManager: 'clusterpass', fieldValidation: 'Strict', ...more },
      body: binding,
      contentType: 'application/apply-patch+yaml',
    });
  await write({ dryRun: 'All' });
  // Standard output has the manifest alone.
  const notes = print === undefined ? context.out : context.err;
  for (const line of await effectOf(client, binding)) notes.write(`${terminalSafe(line)}\n`);
  const isApplied = invocation.is('apply');
  if (isApplied) await write({});
  const outcome = isApplied ? 'applied' : 'not changed (server dry run): add --apply to write it';
  notes.write(`fleetrolebinding.${fleetRoleBindingKind.group}/${name} ${outcome}\n`);
  if (print !== undefined) context.out.write(print(binding));
  return 0;
};

export function bindingOf(invocation: Invocation, now: number) {
  const subject = subjectOf(invocation);
  const role = invocation.required('role');
  const roleRef = role.startsWith('Role/')
    ? { kind: 'Role', name: role.slice('Role/'.length) }
    : { kind: 'ClusterRole', name: role };
  const clusters = clustersField(invocation);
  const namespace = invocation.text('namespace');
  if (roleRef.kind === 'Role' && namespace === undefined) throw new UsageError('a Role needs --namespace');
  const seconds = invocation.seconds('for');
  // A grant for no time must not become one without an end.
  if (seconds === undefined && invocation.text('for') !== undefined) throw new UsageError('--for must be above zero');
  const expiresAt = seconds === undefined ? undefined : toTimestamp(now + seconds * 1000);
  const agents = invocation.is('agents') ? 'Allow' : undefined;
  const namespaces = namespace === undefined ? {} : { namespaces: [namespace] };
  const scope = { subjects: [subject] as const, roleRef, clusters, ...namespaces };
  return {
    apiVersion: `${fleetRoleBindingKind.group}/${fleetRoleBindingKind.version}`,
    kind: fleetRoleBindingKind.kind,
    // Without times and agents: the same grant for longer is the same object.
    metadata: { name: hashedName([subject.name, roleRef.name, clustersText(clusters), namespace], scope) },
    spec: { ...scope, ...defined({ agents, expiresAt }) },
  };
}

function subjectOf(invocation: Invocation): ClusterGrant['subjects'][number] {
  const [user] = invocation.args;
  const group = invocation.text('group');
  if ((user === undefined) === (group === undefined)) throw new UsageError('name either USER or --group');
  return group === undefined ? { kind: 'User', name: user ?? '' } : { kind: 'Group', name: group };
}

function clustersField(invocation: Invocation): ClustersField {
  const cluster = invocation.text('cluster');
  if (cluster !== undefined) return { names: [cluster] };
  try {
    return clustersOf(invocation.required('selector', '--cluster or --selector'));
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(`--selector: ${error.message}`) : error;
  }
}

/** How many clusters are named. */
const MAX_NAMES = 12;

/** Who gains what, where and until when: as far as the caller may ask, which does not decide about the grant. */
async function effectOf(client: Client, { spec }: GrantBinding): Promise<string[]> {
  const { roleRef, clusters, namespaces, agents, expiresAt } = spec;
  const [{ kind, name }] = spec.subjects;
  const role = `${roleRef.kind} ${roleRef.name}`;
  const where = namespaces === undefined ? '' : ` in the namespace ${namespaces.join(', ')}`;
  const until = expiresAt === undefined ? 'without an end' : `until ${expiresAt}`;
  const who = `${kind} ${name}${agents ? ', with its agents,' : ''}`;
  const gain = `${who} gets ${role}${where} ${until}`;
  try {
    const selected =
      clusters.names ??
      (await client.listClusters({ labelSelector: clustersText(clusters) })).items.map(({ metadata }) => metadata.name);
    return [`${gain} in ${namesText(selected)}`];
  } catch (error) {
    if (!isStatus(error, 403)) throw error;
    return [gain, `What this changes cannot be shown: ${error.message}`];
  }
}

function namesText(names: readonly string[]): string {
  if (names.length === 0) return 'no cluster now';
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${names.length === 1 ? '1 cluster' : `${names.length} clusters`}: ${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
