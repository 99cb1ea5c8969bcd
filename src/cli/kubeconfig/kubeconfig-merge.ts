import type { EndpointChange } from './endpoint-change.ts';
import {
  type ContextKey,
  KubeconfigFile,
  type KubeconfigText,
  type Removed,
  type WantedContext,
} from './kubeconfig-file.ts';

export interface WrittenContext {
  readonly server: string;
  readonly cluster: string;
  readonly contextName: string;
}

export interface MergeResult {
  readonly text: string;
  readonly changed: boolean;
  /** The contexts in the file, by cluster. */
  readonly written: readonly WrittenContext[];
  readonly added: readonly string[];
  /** Contexts with a new name, after a change of the template. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  readonly removed: readonly Removed[];
  /** The context that became the current one, because the file had none. */
  readonly selected: string | undefined;
  /** The current context, if it was removed or renamed and a file still names it, so that kubectl fails. */
  readonly lost: string | undefined;
  /** Contexts whose cluster has another address or CA. Without `acceptChanges` those not confirmed are as before. */
  readonly moved: readonly EndpointChange[];
  /** A sentence for each name that another entry has. */
  readonly collisions: readonly string[];
}

export interface MergeOptions {
  readonly prune?: Pruning | undefined;
  readonly acceptChanges?: boolean;
  /** The context that works best now: it becomes the current one. Undefined if none works. */
  readonly choose?: (written: readonly WrittenContext[]) => WrittenContext | undefined;
  /**
   * The chosen context becomes the current one, also if the user has another one. Contexts keep their names, and get
   * qualified ones where another account has the name.
   */
  readonly makesCurrent?: boolean | undefined;
  /** The path of the file, for messages. */
  readonly path?: string;
  /** The files that kubectl reads with this one (`$KUBECONFIG`). They are not changed. */
  readonly others?: readonly KubeconfigText[];
}

/** Which contexts are removed. Contexts of servers that are not named here stay. */
export interface Pruning {
  /** The clusters that the user sees, by server. Contexts of others of these servers are removed. */
  readonly visible: ReadonlyMap<string, ReadonlySet<string>>;
  /** If it is set, contexts of servers that are not among these are removed. */
  readonly knownServers: ReadonlySet<string> | undefined;
}

function removalReason({ visible, knownServers }: Pruning, { server, cluster }: ContextKey): string | undefined {
  if (visible.get(server)?.has(cluster) === false) return `you no longer see this cluster at ${server}`;
  return knownServers?.has(server) === false ? `you are not logged in to ${server}` : undefined;
}

/**
 * Adds and updates contexts in the text of a kubeconfig, and removes those that `prune` names. Other entries, comments
 * and the order stay. In our entries, only our fields are set. A context whose cluster has another address or CA is not
 * updated unless these are confirmed at the server or `acceptChanges` is set: kubectl would send tokens there. In
 * kubectl an entry of this file hides those of its name in `others`, so names in use there are collisions, too.
 */
export function mergeKubeconfig(
  text: string | undefined,
  wanted: readonly WantedContext[],
  options: MergeOptions = {},
): MergeResult {
  const { prune, acceptChanges = false, makesCurrent = false, choose = () => undefined } = options;
  const { path = 'the kubeconfig', others = [] } = options;
  const file = new KubeconfigFile({ path, text });
  const all = [file, ...others.map((other) => new KubeconfigFile(other, { isOnlyRead: true }))];
  const removed = prune === undefined ? [] : file.prune((key) => removalReason(prune, key));
  const written: WrittenContext[] = [];
  const added: string[] = [];
  const renamed: { from: string; to: string }[] = [];
  const moved: EndpointChange[] = [];
  const collisions: string[] = [];
  const byName = Map.groupBy(wanted, ({ contextName }) => contextName);
  for (const each of wanted) {
    const isShared = byName.get(each.contextName)?.some(({ key }) => key.server !== each.key.server) === true;
    const isTaken = isShared || all.some((document) => document.isOfAnother(each, makesCurrent));
    const context = file.withName(each, isTaken, makesCurrent);
    const names = file.namesToSet(context);
    const problem = all.map((document) => document.collision(context, names)).find((found) => found !== undefined);
    if (problem !== undefined) {
      collisions.push(problem);
      continue;
    }
    // Of the entry that kubectl uses now, in whichever file it is.
    const change = all.find((document) => document.has(context.key))?.endpointChange(context);
    if (change !== undefined) {
      moved.push(change);
      if (!acceptChanges && !change.isConfirmed) continue;
    }
    const { before, name } = file.put(context);
    written.push({ server: context.key.server, cluster: context.key.cluster, contextName: name });
    if (before === undefined) added.push(name);
    else if (before !== name) renamed.push({ from: before, to: name });
  }
  const first = choose(written) ?? written[0];
  const isChosen = !makesCurrent && all.some((document) => document.hasChoice);
  const selected = isChosen ? undefined : file.select(first?.contextName);
  const current = all.map((document) => document.current).find((name) => name !== undefined && name !== '');
  const gone = [...removed.map(({ contextName }) => contextName), ...renamed.map(({ from }) => from)];
  const lost = gone.find((name) => name === current);
  const done = { written, added, renamed, removed, moved, selected, lost, collisions };
  return { text: file.changed ? file.toString() : (text ?? ''), changed: file.changed, ...done };
}
