import type { ClusterLookup, ClusterRule } from '../api/authorization.ts';
import type { TimeSlice } from '../lib/time-slice.ts';
import type { FieldSelector } from '../objects/selectors/field-selector.ts';
import type { LabelSelector } from '../objects/selectors/label-selector.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Snapshot } from '../storage/snapshot.ts';

/** What a list or a watch is about: a place, what was asked for, and what the caller may see. */
export interface Selection {
  readonly prefix: string;
  /** True when prefix and name make a key: false only for a namespaced kind asked for across namespaces. */
  readonly namesAreUnique: boolean;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** Undefined for kinds whose visibility is decided as a whole, before the handler. */
  readonly rule: ClusterRule | undefined;
  /** The clock (epoch milliseconds), for kinds whose objects end by themselves; undefined for the others. */
  readonly now?: (() => number) | undefined;
}

/** Not to be shown any more, though still there. What it was is still part of the story that a watch tells. */
export const isOver = ({ now }: Selection, entry: StoredObject): boolean => now !== undefined && entry.isExpired(now());

export const isVisible = (selection: Selection, entry: StoredObject): boolean =>
  selection.rule === undefined || selection.rule.admits(entry.name, entry.labels);

/** Selected and visible. */
export function includes(selection: Selection, entry: StoredObject): boolean {
  return (
    entry.key.startsWith(selection.prefix) &&
    isVisible(selection, entry) &&
    selection.labels.matches(entry.labels) &&
    selection.fields.matches((field) => entry.field(field))
  );
}

const isListed = (selection: Selection, entry: StoredObject): boolean =>
  includes(selection, entry) && !isOver(selection, entry);

export interface Page {
  readonly items: readonly StoredObject[];
  /** How many more the caller may see after this page; exact. */
  readonly remaining: number;
}

export interface PageRequest {
  /** Key of the last item of the page before. */
  readonly after?: string;
  /** 0: no limit. */
  readonly limit: number;
  /** What the page before said was left, if that still holds: saves counting again. */
  readonly left?: number;
}

/**
 * One page in key order, of the snapshot as it is now. Costs what is selected, not what exists, wherever an index can say what
 * is; and whatever it costs is shared out over turns of the event loop.
 */
export async function selectPage(
  snapshot: Snapshot<StoredObject>,
  selection: Selection,
  request: PageRequest,
  turn: TimeSlice,
): Promise<Page> {
  const { after, limit } = request;
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const candidates = narrow(snapshot, selection);
  if (candidates !== undefined) {
    const { entries, exact } = candidates;
    if (exact && after === undefined) {
      const items = limit === 0 ? entries : entries.slice(0, limit);
      return { items, remaining: entries.length - items.length };
    }
    const isWanted = (entry: StoredObject): boolean =>
      (after === undefined || entry.key > after) && (exact || isListed(selection, entry));
    return pick(entries, isWanted, { most }, turn);
  }
  if (isEverything(selection)) {
    const items: StoredObject[] = [];
    snapshot.collect(items, selection.prefix, after, most);
    const left = items.length < most ? items.length : (request.left ?? snapshot.count(selection.prefix, after));
    return { items, remaining: left - items.length };
  }
  const isWanted = (entry: StoredObject): boolean => isListed(selection, entry);
  // Others may write to the snapshot before this has gone through all of it.
  return pick(snapshot.copy().scan(selection.prefix, after), isWanted, { most, left: request.left }, turn);
}

/** How many objects are asked about before a look at the clock. */
const BETWEEN_LOOKS = 64;

/** The first ones of which it is true, and how many more there are, unless that is known. */
async function pick(
  entries: Iterable<StoredObject>,
  isWanted: (entry: StoredObject) => boolean,
  { most, left }: { readonly most: number; readonly left?: number | undefined },
  turn: TimeSlice,
): Promise<Page> {
  const items: StoredObject[] = [];
  let remaining = 0;
  let asked = 0;
  for (const entry of entries) {
    if (++asked % BETWEEN_LOOKS === 0 && turn.isOver) await turn.next();
    if (!isWanted(entry)) continue;
    if (items.length === most) {
      remaining += 1;
      continue;
    }
    items.push(entry);
    if (items.length === most && left !== undefined) return { items, remaining: left - most };
  }
  return { items, remaining };
}

const seesAll = (rule: ClusterRule | undefined): boolean => rule === undefined || rule.all;

/** Nothing that is there is left out, so nothing needs to be looked at. */
const isEverything = ({ rule, labels, fields, now }: Selection): boolean =>
  seesAll(rule) && labels.isEmpty && fields.isEmpty && now === undefined;

/** What holds everything that is selected, in key order, and maybe more. */
export const candidatesFor = (snapshot: Snapshot<StoredObject>, selection: Selection): Iterable<StoredObject> =>
  narrow(snapshot, selection)?.entries ?? snapshot.scan(selection.prefix);

/** All selected entries in key order, for those who need them one after the other. */
export function* selectAll(snapshot: Snapshot<StoredObject>, selection: Selection): Generator<StoredObject> {
  for (const entry of candidatesFor(snapshot, selection)) if (includes(selection, entry)) yield entry;
}

/** More than this from several places is not put in order again: the whole fleet is in order, and is gone through in turns. */
const MOST_SORTED = 10_000;

/** What is at these places, in key order; undefined when there is no index to look them up, or it would give too much. */
export function entriesAt(
  snapshot: Snapshot<StoredObject>,
  prefix: string,
  lookup: ClusterLookup,
): StoredObject[] | undefined {
  if (!snapshot.indexed) return undefined;
  const entries = lookup.names.map((name) => snapshot.get(`${prefix}${name}`)).filter((entry) => entry !== undefined);
  const isInOrder = lookup.names.length + lookup.labels.length <= 1;
  for (const { key, value } of lookup.labels) {
    snapshot.collectLabel(entries, key, value);
    if (!isInOrder && entries.length > MOST_SORTED) return undefined;
  }
  // What comes from one place of an index is in order already.
  return isInOrder ? entries : inOrder(entries);
}

interface Candidates {
  /** In key order. */
  readonly entries: StoredObject[];
  /** They are what is listed, and none needs another look. */
  readonly exact: boolean;
}

/** A way to narrow: places that together hold everything selected. */
interface Way extends ClusterLookup {
  /** Nothing else is to be asked of what it leads to. */
  readonly exact: boolean;
}

/**
 * The smallest set that an index can give and that holds everything selected; undefined when none can. The ways to
 * narrow are walked in step, and the first to come to its end is the smallest: the search costs at most as many times
 * the result as there are ways.
 */
function narrow(snapshot: Snapshot<StoredObject>, selection: Selection): Candidates | undefined {
  if (selection.rule?.none === true) return { entries: [], exact: true };
  const name = selection.fields.exactValue('metadata.name');
  if (name !== undefined && selection.namesAreUnique) {
    const entry = snapshot.get(`${selection.prefix}${name}`);
    return { entries: entry === undefined ? [] : [entry], exact: false };
  }
  if (!snapshot.indexed) return undefined;
  const ways = [...waysByLabel(selection), ...waysByRule(selection)];
  const [only] = ways;
  if (only === undefined) return undefined;
  const entries =
    ways.length > 1 ? walkInStep(snapshot, selection.prefix, ways) : entriesAt(snapshot, selection.prefix, only);
  if (entries === undefined) return undefined;
  if (ways.length > 1) return { entries, exact: false };
  return { entries, exact: only.exact && areBelow(entries, selection.prefix) };
}

/** They are in order, so the first and the last speak for those between them. */
const areBelow = (entries: readonly StoredObject[], prefix: string): boolean =>
  entries.length === 0 ||
  (entries[0]?.key.startsWith(prefix) === true && entries.at(-1)?.key.startsWith(prefix) === true);

function walkInStep(
  snapshot: Snapshot<StoredObject>,
  prefix: string,
  ways: readonly Way[],
): StoredObject[] | undefined {
  const steps = ways.map((way) => walk(snapshot, prefix, way));
  const found = ways.map((): StoredObject[] => []);
  for (let taken = 0; taken < MOST_SORTED; taken++) {
    for (const [index, step] of steps.entries()) {
      const next = step.next();
      if (next.done === true) return inOrder(found[index] ?? []);
      found[index]?.push(next.value);
    }
  }
  return undefined;
}

function* walk(
  snapshot: Snapshot<StoredObject>,
  prefix: string,
  { names, labels }: ClusterLookup,
): Generator<StoredObject> {
  for (const name of names) {
    const entry = snapshot.get(`${prefix}${name}`);
    if (entry !== undefined) yield entry;
  }
  for (const { key, value } of labels) yield* snapshot.withLabel(key, value);
}

function waysByLabel({ labels, rule, fields, now }: Selection): Way[] {
  const exact = labels.requirements.length === 1 && seesAll(rule) && fields.isEmpty && now === undefined;
  return labels.requirements
    .filter(({ operator }) => operator === '=' || operator === '==' || operator === 'in')
    .map(({ key, values }) => ({ names: [], labels: values.map((value) => ({ key, value })), exact }));
}

function waysByRule({ rule, labels, fields, now }: Selection): Way[] {
  if (rule?.candidates === undefined) return [];
  const exact = rule.admitsCandidates === true && labels.isEmpty && fields.isEmpty && now === undefined;
  return [{ ...rule.candidates, exact }];
}

function inOrder(entries: StoredObject[]): StoredObject[] {
  if (entries.every((entry, index) => index === 0 || entry.key > (entries[index - 1] as StoredObject).key))
    return entries;
  const unique = new Map(entries.map((entry) => [entry.key, entry]));
  return [...unique.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
