import { parseKubeconfig } from '../../api/kubeconfig.ts';
import type { EndpointChange } from './endpoint-change.ts';
import {
  type ContextKey,
  collisionText,
  type EntryNames,
  KubeconfigFile,
  SECTIONS,
  type Section,
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
  /** Contexts of clusters that the user no longer sees. */
  readonly removed: readonly string[];
  /** The context that became the current one, because the file had none. */
  readonly selected: string | undefined;
  /** The current context, if it was removed or renamed and a file still names it, so that kubectl fails. */
  readonly lost: string | undefined;
  /** Contexts whose cluster has another address or CA. */
  readonly moved: readonly EndpointChange[];
  /** Those of them that are as before: neither confirmed nor accepted. */
  readonly unaccepted: readonly EndpointChange[];
  /** A sentence for each name that another entry has. */
  readonly collisions: readonly string[];
}

export interface MergeOptions {
  /** The clusters that the user sees, by server. Contexts of others of these servers are removed. */
  readonly visible?: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  readonly acceptChanges?: boolean;
  /** Contexts that are in the file keep their names. */
  readonly keepsNames?: boolean;
  /** The context that works best now: it becomes the current one. Undefined if none works. */
  readonly choose?: (written: readonly WrittenContext[]) => WrittenContext | undefined;
  /** The chosen context becomes the current one, also if the user has another one. */
  readonly makesCurrent?: boolean | undefined;
  /** The path of the file, for messages. */
  readonly path?: string;
  /** The files that kubectl reads with this one (`$KUBECONFIG`). They are not changed. */
  readonly others?: readonly { readonly path: string; readonly text: string | undefined }[];
}

/**
 * Adds and updates contexts in the text of a kubeconfig, and removes those of clusters that are no longer visible.
 * Other entries, comments and the order stay. In our entries, only our fields are set. A context whose cluster has
 * another address or CA is not updated unless these are confirmed at the server or `acceptChanges` is set: kubectl
 * would send tokens there. In kubectl an entry of this file hides those of its name in `others`, so names in use there
 * are collisions, too.
 */
export function mergeKubeconfig(
  text: string | undefined,
  wanted: readonly WantedContext[],
  options: MergeOptions = {},
): MergeResult {
  const {
    visible,
    acceptChanges = false,
    keepsNames = false,
    makesCurrent = false,
    choose = () => undefined,
  } = options;
  const { path = 'the kubeconfig', others = [] } = options;
  const file = new KubeconfigFile(path, text);
  const read = others.map((other) => ({ path: other.path, config: parseKubeconfig(other.text ?? '') }));
  const isVisible = ({ server, cluster }: ContextKey): boolean => visible?.get(server)?.has(cluster) !== false;
  const removed = file.prune(isVisible);
  const written: WrittenContext[] = [];
  const added: string[] = [];
  const renamed: { from: string; to: string }[] = [];
  const moved: EndpointChange[] = [];
  const unaccepted: EndpointChange[] = [];
  const collisions: string[] = [];
  const hidden = (names: EntryNames): string | undefined => {
    for (const { path, config } of read) {
      for (const section of Object.keys(SECTIONS) as Section[]) {
        const name = names[section];
        if (config?.[section].some((entry) => entry.name === name)) return collisionText(section, name, path);
      }
    }
    return undefined;
  };
  for (const each of wanted) {
    const context = file.withFreeName(each);
    const names = file.namesOf(context, keepsNames);
    const problem = file.collision(context, names) ?? hidden(names);
    if (problem !== undefined) {
      collisions.push(problem);
      continue;
    }
    const change = file.endpointChange(context);
    if (change !== undefined) {
      moved.push(change);
      if (!acceptChanges && !change.isConfirmed) {
        unaccepted.push(change);
        continue;
      }
    }
    const before = file.put(context, names);
    const contextName = names.contexts;
    written.push({ server: context.key.server, cluster: context.key.cluster, contextName });
    if (before === undefined) added.push(contextName);
    else if (before !== contextName) renamed.push({ from: before, to: contextName });
  }
  const first = choose(written) ?? written[0];
  const hasChoice = file.hasChoice || read.some(({ config }) => config?.current || config?.contexts.length);
  const selected = first === undefined || (hasChoice && !makesCurrent) ? undefined : file.select(first.contextName);
  const current = file.current || read.map(({ config }) => config?.current).find(Boolean);
  const lost = [...removed, ...renamed.map(({ from }) => from)].find((name) => name === current);
  const done = { written, added, renamed, removed, moved, unaccepted, selected, lost, collisions };
  return { text: file.changed ? file.toString() : (text ?? ''), changed: file.changed, ...done };
}
