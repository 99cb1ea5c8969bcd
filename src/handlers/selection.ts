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

/**
 * One page in key order, of the snapshot as it is now. Where an index knows the selected objects, the cost depends on
 * their number and not on the size of the fleet. Long work is split over ticks of the event loop. `after`: the key of
 * the last item of the page before. Limit 0: no limit.
 */
export async function selectPage<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  selection: Selection,
  { after, limit }: { readonly after?: string; readonly limit: number },
  work: Work,
): Promise<Page<E>> {
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
    return pick(entries, isWanted, max, work);
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
    const left = items.length < max ? items.length : state.count(selection.prefix, after);
    return { items, remaining: left - items.length };
  }
  const isWanted = (entry: E): boolean => isListed(selection, entry);
  return pick(state.scan(selection.prefix, after), isWanted, max, work);
}

const OBJECTS_PER_CLOCK_READ = 64;
const OBJECTS_PER_COLLECT = 1_024;

/** The first wanted entries, and the number of further ones. */
async function pick<E extends ReadableObject>(
  entries: Iterable<E>,
  isWanted: (entry: E) => boolean,
  max: number,
  work: Work,
): Promise<Page<E>> {
  const items: E[] = [];
  let remaining = 0;
  let seen = 0;
  for (const entry of entries) {
    if (++seen % OBJECTS_PER_CLOCK_READ === 0 && work.isUsedUp) await work.turn();
    if (!isWanted(entry)) continue;
    if (items.length < max) items.push(entry);
    else remaining += 1;
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

/** The objects of these names and labels, in key order; undefined without an index, or when there are too many. */
export function entriesAt<E extends ReadableObject>(
  snapshot: ReadableState<E>,
  prefix: string,
  lookup: ObjectLookup,
): E[] | undefined {
  if (!snapshot.indexed) return undefined;
  const entries: E[] = [];
  for (const name of lookup.names) {
    if (snapshot.collectNamed !== undefined) {
      snapshot.collectNamed(entries, prefix, name);
      continue;
    }
    const entry = snapshot.get(`${prefix}${name}`);
    if (entry !== undefined) entries.push(entry);
  }
  const isInOrder = lookup.names.length + lookup.labels.length <= 1;
  for (const { key, value } of lookup.labels) {
    snapshot.collectLabel(entries, key, value);
    if (!isInOrder && entries.length > MAX_SORTED) return undefined;
  }
  // One list of an index is in key order already.
  return isInOrder ? entries : inOrder(entries);
}

const indexesLabel = (snapshot: ReadableState, label: string): boolean =>
  snapshot.indexesLabel?.(label) ?? snapshot.indexed;

/**
 * A superset of the selected objects that an index knows, in key order; undefined when none does. What the caller may
 * see bounds the cost before what it selects. `exact`: every entry is selected, so none needs a check.
 */
function narrow<E extends ReadableObject>(snapshot: ReadableState<E>, selection: Selection) {
  const { rule, labels, fields, now, prefix } = selection;
  if (rule?.none === true) return { entries: [] as E[], exact: true };
  const name = fields.exactValue('metadata.name');
  if (name !== undefined && selection.namesAreUnique) {
    const entry = snapshot.get(`${prefix}${name}`);
    return { entries: entry === undefined ? [] : [entry], exact: false };
  }
  const byRule = rule?.candidates;
  const lookup = byRule ?? labelLookup(snapshot, labels);
  const entries = lookup && entriesAt(snapshot, prefix, lookup);
  if (entries === undefined) return undefined;
  const isWhole =
    byRule === undefined
      ? seesAll(rule) && labels.requirements.length === 1
      : rule?.admitsCandidates === true && labels.isEmpty;
  return { entries, exact: isWhole && fields.isEmpty && now === undefined && areBelow(entries, prefix) };
}

/** By the requirement with the fewest values. */
function labelLookup(snapshot: ReadableState, { requirements }: LabelSelector): ObjectLookup | undefined {
  const [fewest] = requirements
    .filter(({ key, operator }) => operator === 'in' && indexesLabel(snapshot, key))
    .sort((a, b) => a.values.length - b.values.length);
  return fewest && { names: [], labels: fewest.values.map((value) => ({ key: fewest.key, value })) };
}

/** The entries are in key order, so checking the first and the last is enough. */
const areBelow = (entries: readonly ReadableObject[], prefix: string): boolean =>
  entries.length === 0 ||
  (entries[0]?.key.startsWith(prefix) === true && entries.at(-1)?.key.startsWith(prefix) === true);

function inOrder<E extends ReadableObject>(entries: E[]): E[] {
  if (entries.every((entry, index) => index === 0 || entry.key > (entries[index - 1] as E).key)) return entries;
  const unique = new Map(entries.map((entry) => [entry.key, entry]));
  return [...unique.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
