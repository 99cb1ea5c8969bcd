import { Document, isMap, isNode, isSeq, parseDocument, type ScalarTag, type Tags, type YAMLMap, YAMLSeq } from 'yaml';
import { type ClusterFields, type ExecConfig, MAX_ALIASES } from '../../api/kubeconfig.ts';
import { defined, parsedJson } from '../../lib/json.ts';
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
  readonly cluster: Readonly<ClusterFields>;
  /** Identifies all endpoints of the cluster, of which `cluster` has one. */
  readonly endpoints: string;
  /** An operator has confirmed these endpoints at the server. */
  readonly isConfirmed?: boolean;
  readonly exec: ExecConfig;
  readonly namespace: string;
}

export interface ContextKey {
  readonly server: string;
  readonly cluster: string;
  /** `namespace/name` */
  readonly account: string;
}

export interface KubeconfigText {
  readonly path: string;
  readonly text: string | undefined;
}

/** A context that was removed, and why. */
export interface Removed {
  readonly contextName: string;
  readonly reason: string;
}

/** The name of the extension that marks our entries. */
const MARK = 'clusterpass.dev';

/** The sections of a kubeconfig. A collision is reported for the first, so contexts come first. */
const SECTIONS = { contexts: 'context', clusters: 'cluster', users: 'user' } as const;
type Section = keyof typeof SECTIONS;
const SECTION_NAMES = Object.keys(SECTIONS) as Section[];

type Fields = Record<string, unknown>;

interface Entry {
  /** In the document. One with a mark is a map. */
  readonly node: unknown;
  name: string;
  fields: Fields;
  /** The content of our extension. If its name differs from that of the entry, the user renamed the entry. */
  mark: Mark | undefined;
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
  readonly #isJson: boolean;
  /** The text after the first YAML document. */
  readonly #rest: string;
  /** The entries as they are in the document. Reading all of them for each of 500 contexts would take half a minute. */
  readonly #entries: Record<Section, Entry[]>;
  /** The servers of contexts that were removed, by name. */
  readonly #removed = new Map<string, string>();
  changed = false;

  /**
   * As in kubectl, a file is its first YAML document. What follows that stays as it is. A file that is only read may
   * have keys twice: the last one counts.
   */
  constructor({ path, text = '' }: KubeconfigText, { isOnlyRead = false }: { readonly isOnlyRead?: boolean } = {}) {
    const parsed = parseDocument(text, { customTags: withNumbersAsRead, uniqueKeys: !isOnlyRead });
    const problem = parsed.errors.find(({ code }) => code !== 'MULTIPLE_DOCS');
    if (problem !== undefined) {
      throw new CliError(`${path} cannot be parsed, and is not changed: ${yamlProblem(problem)}`);
    }
    const document: Document = isOnlyRead && parsed.contents !== null ? new Document(parsed.toJS(MAX_ALIASES)) : parsed;
    // Without entries, a file has at most comments, which stay.
    document.contents ??= parseDocument(EMPTY).contents;
    this.#path = path;
    this.#document = document;
    const end = parsed.errors.length === 0 ? text.length : parsed.range[2];
    this.#rest = text.slice(end);
    this.#isJson = parsedJson(text.slice(0, end)) !== undefined;
    parsed.errors = [];
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
    const quoted = this.#isJson
      ? ({ defaultKeyType: 'QUOTE_DOUBLE', defaultStringType: 'QUOTE_DOUBLE', doubleQuotedAsJSON: true } as const)
      : {};
    return `${this.#document.toString({ lineWidth: 0, indentSeq: false, ...quoted })}${this.#rest}`;
  }

  #read(section: Section, node: unknown): Entry {
    const item = (isNode(node) ? node.toJS(this.#document) : null) as Record<string, unknown> | null;
    const fields = (item?.[SECTIONS[section]] ?? {}) as Fields;
    return { node, name: String(item?.name ?? ''), fields, mark: markIn(fields) };
  }

  #own(section: Section, key: ContextKey): Entry | undefined {
    return this.#entries[section].find(({ mark }) => mark !== undefined && sameKey(mark, key));
  }

  has(key: ContextKey): boolean {
    return this.#own('clusters', key) !== undefined;
  }

  /**
   * With its qualified name, if it needs one. A context that is in the file keeps the form of its name, or with
   * `keepsName` the name itself.
   */
  withName(wanted: WantedContext, isTaken: boolean, keepsName: boolean): WantedContext {
    const { key, qualified } = wanted;
    const name = this.#own('contexts', key)?.mark?.name;
    const userName = this.#own('users', key)?.mark?.name;
    if (keepsName && name !== undefined) return { ...wanted, contextName: name, userName: userName ?? wanted.userName };
    if (qualified === undefined) return wanted;
    const isQualified = name === undefined ? isTaken : name === qualified.contextName;
    return isQualified ? { ...wanted, ...qualified } : wanted;
  }

  /**
   * Whether the name belongs to a context of another server or, with `ofAccounts`, of another account. A context that
   * was just removed counts, and so does a current context that is missing in a file with contexts of other servers:
   * under its name kubectl would act on another cluster.
   */
  isOfAnother({ contextName, key }: WantedContext, ofAccounts: boolean): boolean {
    const { server } = key;
    const contexts = this.#entries.contexts;
    if (ofAccounts && contexts.some(({ name, mark }) => name === contextName && mark && !sameKey(mark, key)))
      return true;
    const others = contexts.filter(({ mark }) => mark !== undefined && mark.server !== server);
    if (others.some(({ name }) => name === contextName)) return true;
    if ((this.#removed.get(contextName) ?? server) !== server) return true;
    return others.length > 0 && this.current === contextName && !contexts.some(({ name }) => name === contextName);
  }

  /** The names that the entries of a context get. One that the user renamed keeps its name. */
  namesToSet(wanted: WantedContext): ReadonlyMap<Section, string> {
    const isFree = (section: Section): boolean => {
      const own = this.#own(section, wanted.key);
      return own === undefined || !isRenamed(own);
    };
    return new Map(SECTION_NAMES.filter(isFree).map((section) => [section, nameFor(section, wanted)]));
  }

  /** The reason why a context cannot be written; undefined if it can. */
  collision({ key }: WantedContext, names: ReadonlyMap<Section, string>): string | undefined {
    for (const [section, name] of names) {
      const other = this.#entries[section].find((entry) => entry.name === name);
      if (other === undefined || (other.mark !== undefined && sameKey(other.mark, key))) continue;
      const owner =
        other.mark === undefined
          ? 'was not written by clusterpass'
          : `is for ${other.mark.account} at ${other.mark.server}`;
      const entry = `${SECTIONS[section]} ${JSON.stringify(name)}`;
      return `${entry} exists already in ${this.#path} and ${owner}; it is not changed (see --context-name)`;
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
      const entry = {
        name,
        [SECTIONS[section]]: { ...defined(fields), extensions: [{ name: MARK, extension: mark }] },
      };
      this.#append(section, entry);
      return name;
    }
    if (own.name !== name) {
      this.#change(own.node, ['name'], name);
      if (section === 'contexts' && this.current === own.name) this.select(name);
    }
    const others = extensionsOf(own.fields).filter((extension) => extension.name !== MARK);
    // The mark of a renamed entry keeps the old name: that is how it is known to be renamed.
    const extension = isRenamed(own) ? { ...own.mark, ...endpoints } : mark;
    const all: Fields = { ...fields, extensions: [...others, { name: MARK, extension }] };
    for (const [field, value] of Object.entries(all)) {
      if (!same(own.fields[field], value)) this.#change(own.node, [SECTIONS[section], field], value);
    }
    Object.assign(own, this.#read(section, own.node));
    return name;
  }

  #append(section: Section, entry: unknown): void {
    if (!isSeq(this.#document.get(section))) this.#document.set(section, this.#document.createNode([]));
    const list = this.#document.get(section) as YAMLSeq;
    // An empty list is in flow style ([]), which would put all entries on one line.
    if (list.items.length === 0 && !this.#isJson) list.flow = false;
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
  select(name: string | undefined): string | undefined {
    if (name !== undefined && name !== this.current) this.#change(this.#document.contents, ['current-context'], name);
    return name;
  }

  /** Removes our entries for which there is a reason. Returns the contexts among them. */
  prune(reasonFor: (key: ContextKey) => string | undefined): Removed[] {
    const removed: Removed[] = [];
    for (const section of SECTION_NAMES) {
      this.#entries[section] = this.#entries[section].filter(({ node, name, mark }) => {
        const reason = mark && reasonFor(mark);
        if (mark === undefined || reason === undefined) return true;
        const { items } = this.#document.get(section) as YAMLSeq;
        items.splice(items.indexOf(node), 1);
        this.changed = true;
        if (section !== 'contexts') return false;
        removed.push({ contextName: name, reason });
        this.#removed.set(name, mark.server);
        return false;
      });
    }
    return removed;
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
  return { server, cluster, account, name, ...defined({ endpoints }) };
}
