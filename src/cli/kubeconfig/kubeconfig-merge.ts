import { type Document, isMap, isNode, isSeq, parseDocument } from 'yaml';
import type { ExecConfig } from '../../api/kubeconfig-document.ts';
import { CliError } from '../command.ts';
import { yamlProblem } from '../describe-error.ts';
import { type EndpointChange, endpointChanges } from './endpoint-change.ts';

/** A context for one cluster, with its cluster and user entries. */
export interface WantedContext {
  /** Identifies the entries in the file, even if the user has renamed them. */
  readonly key: ContextKey;
  readonly contextName: string;
  readonly userName: string;
  /** Names with that of the server, in place of those above if a context of another server has them. */
  readonly qualified?: { readonly contextName: string; readonly userName: string };
  /** A context of another server in the same list has the same name, so a new one gets its qualified name. */
  readonly isShared?: boolean;
  readonly cluster: { readonly server: string; readonly 'certificate-authority-data'?: string };
  /** Identifies all endpoints of the cluster, of which `cluster` has one. */
  readonly endpoints: string;
  readonly exec: ExecConfig;
  readonly namespace: string;
}

export interface ContextKey {
  readonly server: string;
  readonly cluster: string;
  /** `namespace/name` */
  readonly account: string;
}

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
  readonly removed: readonly string[];
  /** The context that became the current one, because the file had none. */
  readonly selected: string | undefined;
  /** The current context, if it was removed. The file still names it, so that kubectl fails. */
  readonly lost: string | undefined;
  /** Contexts whose cluster has another address or CA. Without `acceptChanges` they are as before. */
  readonly moved: readonly EndpointChange[];
  /** A sentence for each name that another entry has. */
  readonly collisions: readonly string[];
}

/** The name of the extension that marks our entries. */
const MARK = 'clusterpass.dev';

/** The sections of a kubeconfig. A collision is reported for the first, so contexts come first. */
const SECTIONS = { contexts: 'context', clusters: 'cluster', users: 'user' } as const;
type Section = keyof typeof SECTIONS;
const SECTION_NAMES = Object.keys(SECTIONS) as Section[];

type Fields = Record<string, unknown>;

interface Entry {
  readonly index: number;
  readonly name: string;
  readonly fields: Fields;
  /** The content of our extension. If its name differs from that of the entry, the user renamed the entry. */
  readonly mark: Mark | undefined;
}

interface Mark extends ContextKey {
  readonly name: string;
  /** On clusters: `WantedContext.endpoints` when the entry was written. */
  readonly endpoints?: string;
}

export interface MergeOptions {
  readonly prune?: readonly { readonly server: string; readonly visible: ReadonlySet<string> }[];
  readonly acceptChanges?: boolean;
  /** Contexts that fail now. Another one becomes the current context, if there is one. */
  readonly isFailing?: (context: Pick<WrittenContext, 'server' | 'cluster'>) => boolean;
}

/**
 * Adds and updates contexts in the text of a kubeconfig, and removes those of the servers of `prune` for clusters that
 * are not visible. Other entries, comments and the order stay. In our entries, only our fields are set. A context whose
 * cluster has another address or CA is not updated, unless `acceptChanges` is set: kubectl would send tokens there.
 */
export function mergeKubeconfig(
  text: string | undefined,
  wanted: readonly WantedContext[],
  { prune = [], acceptChanges = false, isFailing = () => false }: MergeOptions = {},
): MergeResult {
  const file = new KubeconfigDocument(text);
  const removed = prune.flatMap(({ server, visible }) => file.prune(server, visible));
  const written: WrittenContext[] = [];
  const added: string[] = [];
  const renamed: { from: string; to: string }[] = [];
  const moved: EndpointChange[] = [];
  const collisions: string[] = [];
  for (const each of wanted) {
    const context = file.withName(each);
    const problem = file.collision(context);
    if (problem !== undefined) {
      collisions.push(problem);
      continue;
    }
    const change = file.endpointChange(context);
    if (change !== undefined) {
      moved.push(change);
      if (!acceptChanges) continue;
    }
    const { before, name } = file.put(context);
    written.push({ server: context.key.server, cluster: context.key.cluster, contextName: name });
    if (before === undefined) added.push(name);
    else if (before !== name) renamed.push({ from: before, to: name });
  }
  const first = written.find((each) => !isFailing(each)) ?? written[0];
  const selected = file.selectIfNone(first?.contextName);
  const lost = removed.find((name) => name === file.current);
  const done = { written, added, renamed, removed, moved, selected, lost, collisions };
  return { text: file.changed ? file.toString() : (text ?? ''), changed: file.changed, ...done };
}

const EMPTY = 'apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts: []\n';

class KubeconfigDocument {
  readonly #document: Document;
  /** The entries as they are in the document. Reading all of them for each of 500 contexts would take half a minute. */
  readonly #read = new Map<Section, Entry[]>();
  /** The servers of contexts that were removed, by name. */
  readonly #removed = new Map<string, string>();
  changed = false;

  constructor(text: string | undefined) {
    const document = parseDocument(text === undefined || text.trim() === '' ? EMPTY : text);
    const [problem] = document.errors;
    if (problem !== undefined) {
      throw new CliError(`cannot parse the kubeconfig, which is not changed: ${yamlProblem(problem)}`);
    }
    if (!isMap(document.contents)) throw new CliError('the file is not a kubeconfig and is not changed');
    this.#document = document;
  }

  toString(): string {
    return this.#document.toString({ lineWidth: 0, indentSeq: false });
  }

  #entries(section: Section): Entry[] {
    const known = this.#read.get(section);
    if (known !== undefined) return known;
    const list = this.#document.get(section);
    const entries = isSeq(list) ? list.items.map((_, index) => this.#readEntry(section, index)) : [];
    this.#read.set(section, entries);
    return entries;
  }

  #readEntry(section: Section, index: number): Entry {
    const node: unknown = this.#document.getIn([section, index], true);
    const item = (isNode(node) ? node.toJS(this.#document) : null) as Record<string, unknown> | null;
    const fields = (item?.[SECTIONS[section]] ?? {}) as Fields;
    return { index, name: String(item?.name ?? ''), fields, mark: markIn(fields) };
  }

  #own(section: Section, key: ContextKey): Entry | undefined {
    return this.#entries(section).find(({ mark }) => mark !== undefined && sameKey(mark, key));
  }

  /** With its qualified name, if it needs one. A context that is in the file keeps the form of its name. */
  withName(wanted: WantedContext): WantedContext {
    const { key, contextName, qualified, isShared = false } = wanted;
    if (qualified === undefined) return wanted;
    const name = this.#own('contexts', key)?.mark?.name;
    const isQualified =
      name === undefined ? isShared || this.#isOfAnother(contextName, key.server) : name === qualified.contextName;
    return isQualified ? { ...wanted, ...qualified } : wanted;
  }

  /**
   * Whether the name belongs to a context of another server. A context that was just removed counts, and so does a
   * current context that is missing in a file with contexts of other servers: under its name kubectl would act on
   * another cluster.
   */
  #isOfAnother(contextName: string, server: string): boolean {
    const contexts = this.#entries('contexts');
    const others = contexts.filter(({ mark }) => mark !== undefined && mark.server !== server);
    if (others.some(({ name }) => name === contextName)) return true;
    if ((this.#removed.get(contextName) ?? server) !== server) return true;
    return others.length > 0 && this.current === contextName && !contexts.some(({ name }) => name === contextName);
  }

  /** The reason why a context cannot be written; undefined if it can. */
  collision(wanted: WantedContext): string | undefined {
    for (const section of SECTION_NAMES) {
      const name = nameFor(section, wanted);
      const other = this.#entries(section).find((entry) => entry.name === name);
      if (other === undefined || (other.mark !== undefined && sameKey(other.mark, wanted.key))) continue;
      // An entry that the user renamed keeps its name, so it does not need this one.
      const own = this.#own(section, wanted.key);
      if (own !== undefined && isRenamed(own)) continue;
      const owner =
        other.mark === undefined
          ? 'was not written by clusterpass'
          : `is for ${other.mark.account} at ${other.mark.server}`;
      return `${SECTIONS[section]} ${JSON.stringify(name)} exists already and ${owner}; it is not changed (see --context-name)`;
    }
    return undefined;
  }

  /** How the destination of a context in the file differs from the wanted one; undefined if it does not. */
  endpointChange(wanted: WantedContext): EndpointChange | undefined {
    const own = this.#own('clusters', wanted.key);
    if (own === undefined) return undefined;
    const changes = endpointChanges(own.fields, own.mark?.endpoints, wanted.cluster, wanted.endpoints);
    const contextName = this.#own('contexts', wanted.key)?.name ?? wanted.contextName;
    return changes.length === 0 ? undefined : { contextName, changes };
  }

  /** Returns the new and the previous name of the context. */
  put(wanted: WantedContext): { readonly before: string | undefined; readonly name: string } {
    const old = this.#own('contexts', wanted.key)?.name;
    const cluster = this.#set('clusters', wanted, { 'certificate-authority-data': undefined, ...wanted.cluster });
    const exec = this.#own('users', wanted.key)?.fields.exec as Fields | undefined;
    const user = this.#set('users', wanted, { exec: { ...(exec ?? {}), ...wanted.exec } });
    const namespace = old === undefined ? { namespace: wanted.namespace } : {};
    return { before: old, name: this.#set('contexts', wanted, { cluster, user, ...namespace }) };
  }

  /** Adds or updates an entry and returns its name. */
  #set(section: Section, wanted: WantedContext, fields: Fields): string {
    const own = this.#own(section, wanted.key);
    const name = own !== undefined && isRenamed(own) ? own.name : nameFor(section, wanted);
    const endpoints = section === 'clusters' ? { endpoints: wanted.endpoints } : {};
    const mark: Mark = { ...wanted.key, name: nameFor(section, wanted), ...endpoints };
    if (own === undefined) {
      const defined = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      const entry = { name, [SECTIONS[section]]: { ...defined, extensions: [{ name: MARK, extension: mark }] } };
      this.#append(section, entry);
      return name;
    }
    if (own.name !== name) this.#rename(section, own, name);
    const others = extensionsOf(own.fields).filter((extension) => extension.name !== MARK);
    // The mark of a renamed entry keeps the old name: that is how it is known to be renamed.
    const extension = isRenamed(own) ? { ...own.mark, ...endpoints } : mark;
    const all: Fields = { ...fields, extensions: [...others, { name: MARK, extension }] };
    for (const [field, value] of Object.entries(all)) {
      if (same(own.fields[field], value)) continue;
      this.#change([section, own.index, SECTIONS[section], field], value);
    }
    return name;
  }

  #append(section: Section, entry: unknown): void {
    const list = this.#document.get(section);
    if (!isSeq(list)) this.#document.set(section, this.#document.createNode([]));
    const sequence = this.#document.get(section);
    if (!isSeq(sequence)) throw new CliError(`${section} of the kubeconfig is not a list`);
    // An empty list is in flow style ([]), which would put all entries on one line.
    if (sequence.items.length === 0) sequence.flow = false;
    sequence.items.push(this.#document.createNode(entry));
    this.#read.get(section)?.push(this.#readEntry(section, sequence.items.length - 1));
    this.changed = true;
  }

  #rename(section: Section, own: Entry, name: string): void {
    this.#change([section, own.index, 'name'], name);
    if (section === 'contexts' && this.#document.get('current-context') === own.name) {
      this.#change(['current-context'], name);
    }
  }

  #change(path: readonly (string | number)[], value: unknown): void {
    if (value === undefined) this.#document.deleteIn(path);
    else this.#document.setIn(path, this.#document.createNode(value));
    const [section, index] = path as readonly [Section, number];
    const entries = this.#read.get(section);
    if (entries !== undefined) entries[index] = this.#readEntry(section, index);
    this.changed = true;
  }

  get current(): unknown {
    return this.#document.get('current-context');
  }

  /**
   * Without a current context kubectl connects to localhost:8080. A choice of the user is never changed: not the empty
   * value that `kubectl config unset` writes, nor a missing one beside contexts of other programs.
   */
  selectIfNone(name: string | undefined): string | undefined {
    if (name === undefined || this.current !== undefined) return undefined;
    if (this.#entries('contexts').some(({ mark }) => mark === undefined)) return undefined;
    this.#change(['current-context'], name);
    return name;
  }

  prune(server: string, visible: ReadonlySet<string>): string[] {
    const removed: string[] = [];
    for (const section of SECTION_NAMES) {
      for (const { index, name, mark } of this.#entries(section).toReversed()) {
        if (mark === undefined || mark.server !== server || visible.has(mark.cluster)) continue;
        this.#document.deleteIn([section, index]);
        this.changed = true;
        if (section !== 'contexts') continue;
        removed.push(name);
        this.#removed.set(name, server);
      }
      this.#read.delete(section);
    }
    return removed.reverse();
  }
}

const nameFor = (section: Section, { contextName, userName }: WantedContext): string =>
  section === 'users' ? userName : contextName;

const isRenamed = ({ name, mark }: Entry): boolean => mark !== undefined && mark.name !== name;

const sameKey = (a: ContextKey, b: ContextKey): boolean =>
  a.server === b.server && a.cluster === b.cluster && a.account === b.account;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function extensionsOf(fields: Fields): { name?: unknown; extension?: unknown }[] {
  return Array.isArray(fields.extensions) ? fields.extensions : [];
}

function markIn(fields: Fields): Entry['mark'] {
  const found = extensionsOf(fields).find(({ name }) => name === MARK)?.extension as Partial<Mark> | undefined;
  const { server, cluster, account, name, endpoints } = found ?? {};
  if (server === undefined || cluster === undefined || account === undefined || name === undefined) return undefined;
  return { server, cluster, account, name, ...(endpoints === undefined ? {} : { endpoints }) };
}
