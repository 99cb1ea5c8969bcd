import type { ObjectLookup, VisibilityRule } from '../api/visibility.ts';
import type { Work } from '../lib/work-queue.ts';
import type { ReadableObject, ReadableState } from '../objects/readable.ts';
import type { FieldSelector } from '../objects/selectors/field-selector.ts';
import type { LabelSelector } from '../objects/selectors/label-selector.ts';

/** Which objects a list or a watch shows: a key prefix, the selectors, and what the caller may see. */
export interface Selection {
  readonly prefix: string;
  /** True when prefix and name make a key: false only for a namespaced kind across namespaces. */
  readonly namesAreUnique: boolean;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** Undefined for kinds that are allowed or not as a whole, before the handler. */
  readonly rule: VisibilityRule | undefined;
  /** Epoch milliseconds, for kinds whose objects expire; undefined for the others. */
  readonly now?: (() => number) | undefined;
}

/** An expired object is not listed, though it may still be stored. A watch still sends its deletion. */
export const hasExpired = ({ now }: Selection, entry: ReadableObject): boolean =>
  now !== undefined && entry.isExpired(now());

export const isVisible = (selection: Selection, entry: ReadableObject): boolean =>
  selection.rule === undefined || selection.rule.admits(entry.name, entry.ruleLabels);

/** Selected and visible. */
export function includes(selection: Selection, entry: ReadableObject): boolean {
  return (
    entry.key.startsWith(selection.prefix) &&
    isVisible(selection, entry) &&
    selection.labels.matches(entry.labels) &&
    selection.fields.matches((field) => entry.field(field))
  );
}

const isListed = (selection: Selection, entry: ReadableObject): boolean =>
  includes(selection, entry) && !hasExpired(selection, entry);

export interface Page<E extends ReadableObject = ReadableObject> {
  readonly items: readonly E[];
  /** The exact number of objects after this page that the caller may see. */
  readonly remaining: number;
}

interface PageRequest {
  /** The key of the last item of the page before. */
  readonly after?: string;
  /** 0: no limit. */
  readonly limit: number;
  /** The remaining items according to the page before, if that still holds: saves counting them again. */
  readonly knownRemaining?: number;
}

/**
 * One page in key order, of the snapshot as it is now. Where an index knows the selected objects, the cost depends on
 * their number and not on the size of the fleet. Long work is split over ticks of the event loop.
 */
export async function selectPage<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  selection: Selection,
  request: PageRequest,
  work: Work,
): Promise<Page<E>> {
  const { after, limit } = request;
  const max = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const candidates = narrow(snapshot, selection);
  if (candidates !== undefined) {
    const { entries, exact } = candidates;
    if (exact && after === undefined) {
      const items = limit === 0 ? entries : entries.slice(0, limit);
      return { items, remaining: entries.length - items.length };
    }
    const isWanted = (entry: E): boolean =>
      (after === undefined || entry.key > after) && (exact || isListed(selection, entry));
    return pick(entries, isWanted, { max }, work);
  }
  // A copy, because the snapshot may change between two ticks.
  const state = snapshot.copy();
  if (isEverything(selection) && state.collect !== undefined && state.count !== undefined) {
    const items: E[] = [];
    for (let end = 0; end === items.length && end < max; ) {
      if (end > 0 && work.isUsedUp) await work.turn();
      end = Math.min(end + OBJECTS_PER_COLLECT, max);
      state.collect(items, selection.prefix, items.at(-1)?.key ?? after, end);
    }
    const left = items.length < max ? items.length : (request.knownRemaining ?? state.count(selection.prefix, after));
    return { items, remaining: left - items.length };
  }
  const isWanted = (entry: E): boolean => isListed(selection, entry);
  return pick(state.scan(selection.prefix, after), isWanted, { max, left: request.knownRemaining }, work);
}

const OBJECTS_PER_CLOCK_READ = 64;
const OBJECTS_PER_COLLECT = 1_024;

/** The first wanted entries, and the number of further ones unless `left` is known. */
async function pick<E extends ReadableObject>(
  entries: Iterable<E>,
  isWanted: (entry: E) => boolean,
  { max, left }: { readonly max: number; readonly left?: number | undefined },
  work: Work,
): Promise<Page<E>> {
  const items: E[] = [];
  let remaining = 0;
  let seen = 0;
  for (const entry of entries) {
    if (++seen % OBJECTS_PER_CLOCK_READ === 0 && work.isUsedUp) await work.turn();
    if (!isWanted(entry)) continue;
    if (items.length === max) {
      remaining += 1;
      continue;
    }
    items.push(entry);
    if (items.length === max && left !== undefined) return { items, remaining: left - max };
  }
  return { items, remaining };
}

const seesAll = (rule: VisibilityRule | undefined): boolean => rule === undefined || rule.all;

/** Every object is selected, so none needs a check. */
const isEverything = ({ rule, labels, fields, now }: Selection): boolean =>
  seesAll(rule) && labels.isEmpty && fields.isEmpty && now === undefined;

/** A superset of the selected objects, in key order. */
export const candidatesFor = <E extends ReadableObject>(
  snapshot: ReadableState<E>,
  selection: Selection,
): Iterable<E> => narrow(snapshot, selection)?.entries ?? snapshot.scan(selection.prefix);

/**
 * Entries of several index lists are sorted up to this number; beyond it, walking the whole fleet in order is better.
 */
const MAX_SORTED = 10_000;
/** Requirements of a selector that are walked; the others are checked. The walk is one step of a turn. */
const MAX_LABEL_PATHS = 8;

/** The objects of these names and labels, in key order; undefined without an index, or when there are too many. */
export function entriesAt<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  prefix: string,
  lookup: ObjectLookup,
): E[] | undefined {
  if (!snapshot.indexed) return undefined;
  const entries: E[] = [];
  for (const name of lookup.names) collectNamed(snapshot, entries, prefix, name);
  const isInOrder = lookup.names.length + lookup.labels.length <= 1;
  for (const { key, value } of lookup.labels) {
    snapshot.collectLabel(entries, key, value);
    if (!isInOrder && entries.length > MAX_SORTED) return undefined;
  }
  // One list of an index is in key order already.
  return isInOrder ? entries : inOrder(entries);
}

function collectNamed<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  into: E[],
  prefix: string,
  name: string,
): void {
  if (snapshot.collectNamed !== undefined) {
    snapshot.collectNamed(into, prefix, name);
    return;
  }
  const entry = snapshot.get(`${prefix}${name}`);
  if (entry !== undefined) into.push(entry);
}

const indexesLabel = (snapshot: ReadableState, label: string): boolean =>
  snapshot.indexesLabel?.(label) ?? snapshot.indexed;

/** Names and labels that together lead to every selected object. */
interface AccessPath extends ObjectLookup {
  /** Every object that it leads to is selected. */
  readonly exact: boolean;
}

/**
 * The smallest superset of the selected objects that an index knows; undefined when none does. All paths are walked in
 * lockstep, and the first that ends is the smallest: the cost is at most the result times the number of paths. The
 * entries are in key order. `exact`: every entry is selected, so none needs a check.
 */
function narrow<E extends ReadableObject>(snapshot: ReadableState<E>, selection: Selection) {
  if (selection.rule?.none === true) return { entries: [] as E[], exact: true };
  const name = selection.fields.exactValue('metadata.name');
  if (name !== undefined && selection.namesAreUnique) {
    const entry = snapshot.get(`${selection.prefix}${name}`);
    return { entries: entry === undefined ? [] : [entry], exact: false };
  }
  if (!snapshot.indexed) return undefined;
  const paths = [...pathsByLabel(snapshot, selection).slice(0, MAX_LABEL_PATHS), ...pathsByRule(selection)];
  const [only] = paths;
  if (only === undefined) return undefined;
  const entries =
    paths.length > 1 ? walkInLockstep(snapshot, selection.prefix, paths) : entriesAt(snapshot, selection.prefix, only);
  if (entries === undefined) return undefined;
  if (paths.length > 1) return { entries, exact: false };
  return { entries, exact: only.exact && areBelow(entries, selection.prefix) };
}

/** The entries are in key order, so checking the first and the last is enough. */
const areBelow = (entries: readonly ReadableObject[], prefix: string): boolean =>
  entries.length === 0 ||
  (entries[0]?.key.startsWith(prefix) === true && entries.at(-1)?.key.startsWith(prefix) === true);

function walkInLockstep<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  prefix: string,
  paths: readonly AccessPath[],
): E[] | undefined {
  const walkers = paths.map((path) => walk(snapshot, prefix, path));
  const found = paths.map((): E[] => []);
  for (let taken = 0; taken < MAX_SORTED; taken++) {
    for (const [index, walker] of walkers.entries()) {
      const next = walker.next();
      if (next.done === true) return inOrder(found[index] ?? []);
      found[index]?.push(next.value);
    }
  }
  return undefined;
}

function* walk<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  prefix: string,
  { names, labels }: ObjectLookup,
): Generator<E> {
  for (const name of names) {
    const named: E[] = [];
    collectNamed(snapshot, named, prefix, name);
    yield* named;
  }
  for (const { key, value } of labels) yield* snapshot.withLabel(key, value);
}

function pathsByLabel(snapshot: ReadableState, { labels, rule, fields, now }: Selection): AccessPath[] {
  const exact = labels.requirements.length === 1 && seesAll(rule) && fields.isEmpty && now === undefined;
  return labels.requirements
    .filter(({ key, operator }) => operator === 'in' && indexesLabel(snapshot, key))
    .map(({ key, values }) => ({ names: [], labels: values.map((value) => ({ key, value })), exact }));
}

function pathsByRule({ rule, labels, fields, now }: Selection): AccessPath[] {
  if (rule?.candidates === undefined) return [];
  const exact = rule.admitsCandidates === true && labels.isEmpty && fields.isEmpty && now === undefined;
  return [{ ...rule.candidates, exact }];
}

function inOrder<E extends ReadableObject>(entries: E[]): E[] {
  if (entries.every((entry, index) => index === 0 || entry.key > (entries[index - 1] as E).key)) return entries;
  const unique = new Map(entries.map((entry) => [entry.key, entry]));
  return [...unique.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
