import {
  type Document,
  isMap,
  isNode,
  isSeq,
  parseDocument,
  type ScalarTag,
  type Tags,
  type YAMLMap,
  YAMLSeq,
} from 'yaml';
import type { ClusterFields, ExecConfig } from '../../api/kubeconfig.ts';
import { defined } from '../../lib/json.ts';
import { CliError } from '../command.ts';
import { yamlProblem } from '../describe-error.ts';
import { type EndpointChange, endpointChanges } from './endpoint-change.ts';

/** A context for one cluster, with its cluster and user entries. */
export interface WantedContext extends ContextNames {
  /** Identifies the entries in the file, even if the user has renamed them. */
  readonly key: ContextKey;
  /** Names for a new context if another context of this program has, or had, the name above. */
  readonly fallback?: ContextNames;
  readonly cluster: Readonly<ClusterFields>;
  /** Identifies all endpoints of the cluster, of which `cluster` has one. */
  readonly endpoints: string;
  /** An operator has confirmed these endpoints at the server. */
  readonly isConfirmed?: boolean;
  readonly exec: ExecConfig;
  readonly namespace: string;
}

export interface ContextNames {
  readonly contextName: string;
  readonly userName: string;
}

export interface ContextKey {
  readonly server: string;
  readonly cluster: string;
  /** `namespace/name` */
  readonly account: string;
}

/** The name of the extension that marks our entries. */
const MARK = 'clusterpass.dev';

/** The sections of a kubeconfig. A collision is reported for the first, so contexts come first. */
export const SECTIONS = { contexts: 'context', clusters: 'cluster', users: 'user' } as const;
export type Section = keyof typeof SECTIONS;
const SECTION_NAMES = Object.keys(SECTIONS) as Section[];

/** The names of the entries of a context. */
export type EntryNames = Readonly<Record<Section, string>>;

type Fields = Record<string, unknown>;

interface Entry {
  /** In the document. One with a mark is a map. */
  readonly node: unknown;
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

const EMPTY = 'apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts: []\n';

const NUMBERS: ReadonlySet<string> = new Set(['tag:yaml.org,2002:int', 'tag:yaml.org,2002:float']);

/** Numbers are written as they were read: one of another program may have more digits than JavaScript keeps. */
const withNumbersAsRead = (tags: Tags): Tags =>
  tags.map((tag) => {
    if (typeof tag !== 'object' || !NUMBERS.has(tag.tag)) return tag;
    const { stringify = ({ value }) => String(value), ...rest } = tag as ScalarTag;
    return { ...rest, stringify: (node, ...context) => node.source ?? stringify(node, ...context) };
  });

/** A kubeconfig with entries of this program and of others. */
export class KubeconfigFile {
  readonly #path: string;
  readonly #document: Document;
  /** The entries as they are in the document. Reading all of them for each of 500 contexts would take half a minute. */
  readonly #entries: Record<Section, Entry[]>;
  /** The names of contexts that were removed. */
  readonly #removed = new Set<string>();
  changed = false;

  constructor(path: string, text = '') {
    const document: Document = parseDocument(text, { customTags: withNumbersAsRead });
    const [problem] = document.errors;
    if (problem !== undefined) {
      const why = problem.code === 'MULTIPLE_DOCS' ? 'it has several YAML documents' : yamlProblem(problem);
      throw new CliError(`${path} cannot be parsed, and is not changed: ${why}`);
    }
    // Without entries, a file has at most comments, which stay.
    document.contents ??= parseDocument(EMPTY).contents;
    this.#path = path;
    this.#document = document;
    const shape = this.#wrongShape();
    if (shape !== undefined) throw new CliError(`${path} is not a kubeconfig, and is not changed: ${shape}`);
    const entriesOf = (section: Section): Entry[] => {
      const list = document.get(section);
      return isSeq(list) ? list.items.map((node) => this.#read(section, node)) : [];
    };
    this.#entries = { contexts: entriesOf('contexts'), clusters: entriesOf('clusters'), users: entriesOf('users') };
  }

  /** What kubectl refuses, too. */
  #wrongShape(): string | undefined {
    if (!isMap(this.#document.contents)) return 'it is not a YAML map';
    for (const [field, expected] of Object.entries({ apiVersion: 'v1', kind: 'Config' })) {
      const found = this.#document.get(field) ?? '';
      if (found !== '' && found !== expected) return `${field} is ${JSON.stringify(found)}, not ${expected}`;
    }
    const wrong = SECTION_NAMES.find((section) => !isSeq(this.#document.get(section) ?? new YAMLSeq()));
    return wrong === undefined ? undefined : `${wrong} is not a list`;
  }

  toString(): string {
    return this.#document.toString({ lineWidth: 0, indentSeq: false });
  }

  #read(section: Section, node: unknown): Entry {
    const item = (isNode(node) ? node.toJS(this.#document) : null) as Record<string, unknown> | null;
    const fields = (item?.[SECTIONS[section]] ?? {}) as Fields;
    return { node, name: String(item?.name ?? ''), fields, mark: markIn(fields) };
  }

  #own(section: Section, key: ContextKey): Entry | undefined {
    return this.#entries[section].find(({ mark }) => mark !== undefined && sameKey(mark, key));
  }

  /**
   * With its fallback, if it is new and its name is that of another context of this program, was that of a removed one,
   * or is that of the current context, which does not exist: under it, kubectl would act on another cluster.
   */
  withFreeName(wanted: WantedContext): WantedContext {
    const { key, contextName, fallback } = wanted;
    if (fallback === undefined || this.#own('contexts', key) !== undefined) return wanted;
    const { contexts } = this.#entries;
    const known = contexts.find(({ name }) => name === contextName);
    const isLost = known === undefined && contexts.length > 0 && this.current === contextName;
    return known?.mark !== undefined || isLost || this.#removed.has(contextName) ? { ...wanted, ...fallback } : wanted;
  }

  /** One that the user renamed keeps its name; with `keepsNames`, all that are in the file do. */
  namesOf({ key, contextName, userName }: WantedContext, keepsNames: boolean): EntryNames {
    const nameIn = (section: Section, name: string): string => {
      const own = this.#own(section, key);
      return own !== undefined && (keepsNames || own.mark?.name !== own.name) ? own.name : name;
    };
    return {
      contexts: nameIn('contexts', contextName),
      clusters: nameIn('clusters', contextName),
      users: nameIn('users', userName),
    };
  }

  /** The reason why a context cannot be written; undefined if it can. */
  collision({ key }: WantedContext, names: EntryNames): string | undefined {
    for (const section of SECTION_NAMES) {
      const name = names[section];
      const other = this.#entries[section].find((entry) => entry.name === name);
      if (other === undefined || (other.mark !== undefined && sameKey(other.mark, key))) continue;
      const { mark } = other;
      return collisionText(section, name, this.#path, mark && `is for ${mark.account} at ${mark.server}`);
    }
    return undefined;
  }

  endpointChange(wanted: WantedContext): EndpointChange | undefined {
    const own = this.#own('clusters', wanted.key);
    if (own === undefined) return undefined;
    const changes = endpointChanges(own.fields, own.mark?.endpoints, wanted.cluster, wanted.endpoints);
    const contextName = this.#own('contexts', wanted.key)?.name ?? wanted.contextName;
    return changes.length === 0 ? undefined : { contextName, changes, isConfirmed: wanted.isConfirmed === true };
  }

  /** Returns the previous name of the context; undefined for a new one. */
  put(wanted: WantedContext, names: EntryNames): string | undefined {
    const { key, cluster, endpoints } = wanted;
    const before = this.#own('contexts', key)?.name;
    this.#set(
      'clusters',
      wanted,
      names.clusters,
      { 'certificate-authority-data': undefined, ...cluster },
      { endpoints },
    );
    const exec = this.#own('users', key)?.fields.exec as Fields | undefined;
    this.#set('users', wanted, names.users, { exec: { ...(exec ?? {}), ...wanted.exec } });
    const namespace = before === undefined ? { namespace: wanted.namespace } : {};
    this.#set('contexts', wanted, names.contexts, { cluster: names.clusters, user: names.users, ...namespace });
    return before;
  }

  /** Adds or updates an entry. */
  #set(section: Section, { key }: WantedContext, name: string, fields: Fields, more: Pick<Mark, 'endpoints'> = {}) {
    const own = this.#own(section, key);
    if (own === undefined) {
      const extensions = [{ name: MARK, extension: { ...key, name, ...more } }];
      this.#append(section, { name, [SECTIONS[section]]: { ...defined(fields), extensions } });
      return;
    }
    if (own.name !== name) {
      this.#change(own.node, ['name'], name);
      if (section === 'contexts' && this.current === own.name) this.select(name);
    }
    const others = extensionsOf(own.fields).filter((extension) => extension.name !== MARK);
    // The mark of an entry that the user renamed keeps the old name: that is how it is known to be renamed.
    const mark = own.name === name ? own.mark : { ...key, name };
    const all: Fields = { ...fields, extensions: [...others, { name: MARK, extension: { ...mark, ...more } }] };
    for (const [field, value] of Object.entries(all)) {
      if (!same(own.fields[field], value)) this.#change(own.node, [SECTIONS[section], field], value);
    }
    const entries = this.#entries[section];
    entries[entries.indexOf(own)] = this.#read(section, own.node);
  }

  #append(section: Section, entry: unknown): void {
    if (!isSeq(this.#document.get(section))) this.#document.set(section, this.#document.createNode([]));
    const list = this.#document.get(section) as YAMLSeq;
    // An empty list is in flow style ([]), which would put all entries on one line.
    if (list.items.length === 0) list.flow = false;
    const node = this.#document.createNode(entry);
    list.items.push(node);
    this.#entries[section].push(this.#read(section, node));
    this.changed = true;
  }

  #change(node: unknown, path: readonly string[], value: unknown): void {
    const map = node as YAMLMap;
    if (value === undefined) map.deleteIn(path);
    else map.setIn(path, this.#document.createNode(value));
    this.changed = true;
  }

  get current(): unknown {
    return this.#document.get('current-context');
  }

  /**
   * Whether the user has chosen the current context, which is then never changed. The empty value that `kubectl config
   * unset` writes is a choice, and so is a missing one beside contexts of other programs.
   */
  get hasChoice(): boolean {
    return this.current !== undefined || this.#entries.contexts.some(({ mark }) => mark === undefined);
  }

  /** Without a current context kubectl connects to localhost:8080. */
  select(name: string): string {
    if (name !== this.current) this.#change(this.#document.contents, ['current-context'], name);
    return name;
  }

  /** Removes our entries of clusters that are not visible. Returns the contexts among them. */
  prune(isVisible: (key: ContextKey) => boolean): string[] {
    for (const section of SECTION_NAMES) {
      this.#entries[section] = this.#entries[section].filter(({ node, name, mark }) => {
        if (mark === undefined || isVisible(mark)) return true;
        const { items } = this.#document.get(section) as YAMLSeq;
        items.splice(items.indexOf(node), 1);
        this.changed = true;
        if (section === 'contexts') this.#removed.add(name);
        return false;
      });
    }
    return [...this.#removed];
  }
}

export const collisionText = (
  section: Section,
  name: string,
  path: string,
  owner = 'was not written by clusterpass',
): string =>
  `${SECTIONS[section]} ${JSON.stringify(name)} exists already in ${path} and ${owner}; it is not changed (see ` +
  '--context-name)';

const sameKey = (a: ContextKey, b: ContextKey): boolean =>
  a.server === b.server && a.cluster === b.cluster && a.account === b.account;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function extensionsOf(fields: Fields): { name?: unknown; extension?: unknown }[] {
  return Array.isArray(fields.extensions) ? fields.extensions : [];
}

function markIn(fields: Fields): Mark | undefined {
  const found = extensionsOf(fields).find(({ name }) => name === MARK)?.extension as Partial<Mark> | undefined;
  const { server, cluster, account, name, endpoints } = found ?? {};
  if (server === undefined || cluster === undefined || account === undefined || name === undefined) return undefined;
  return { server, cluster, account, name, ...defined({ endpoints }) };
}
