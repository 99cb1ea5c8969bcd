import type { Kind } from '../../api/kind.ts';
import type { ApiRequest } from '../../api/request.ts';
import { gone } from '../../api/status.ts';
import { atRevision, compareMoments, type PolicyMoment, revisionBefore } from '../../api/visibility.ts';
import type { ListOptions } from '../options/list-options.ts';
import { columnsOnce, type Representation } from '../representation.ts';
import type { Selection } from '../selection.ts';
import { representationFor, selectionFor, type Views } from '../views.ts';

/** What one watch shows. Replaced as a whole when a permission change affects the caller. */
export interface WatchView {
  /** Views of the same group show the same events as the same bytes. */
  readonly groupId: string;
  readonly selection: Selection;
  readonly representation: Representation;
}

/** What the caller could see from this moment on, up to the next interval. */
export interface PolicyInterval {
  readonly from: PolicyMoment;
  readonly selection: Selection;
}

export interface WatchViews {
  /** The view under the rules in force now. */
  readonly current: () => WatchView;
  /** The intervals between two revisions, at least one. Throws a 410 when they are no longer known. */
  readonly intervals: (from: number, upTo: number) => readonly PolicyInterval[];
}

interface WatchViewsParts {
  readonly views: Views;
  /** Policy changes; undefined when they are no longer known. */
  readonly policyChangesBetween: (after: number, upTo: number) => readonly PolicyMoment[] | undefined;
  /** For kinds that are allowed or not as a whole; see `WatchParts`. */
  readonly isRefusedBetween: (from: number, upTo: number) => boolean;
  /** A number that no other watch has. */
  readonly watchId: number;
}

/** The rules of a past revision are compiled from all bindings. A client that missed more changes has to list again. */
const MAX_INTERVALS = 8;

export function createWatchViews(
  { views, policyChangesBetween, isRefusedBetween, watchId }: WatchViewsParts,
  request: ApiRequest,
  kind: Kind,
  options: ListOptions,
): WatchViews {
  const { caller, target } = request;
  const base = selectionFor(request, kind, options, views);
  const form = representationFor(request, kind, views);
  const streamed: Representation = form.form === 'table' ? { ...form, takeColumns: columnsOnce(kind) } : form;
  const viewOf = (rule: Selection['rule'], whole: Representation['whole']): WatchView => {
    const { prefix, labels, fields } = base;
    // The first event of a table names its columns, so a table has a group to itself.
    const table = form.form === 'table' ? watchId : 0;
    const { clientAddress: address } = form;
    const rules = [rule?.fingerprint, whole?.fingerprint];
    return {
      groupId: JSON.stringify([prefix, labels.toString(), fields.toString(), ...rules, form.form, table, address]),
      selection: { ...base, rule },
      representation: { ...streamed, whole },
    };
  };
  let current = viewOf(base.rule, form.whole);
  return {
    current: () => {
      const rule = views.rule(kind, caller, 'watch');
      const whole = views.whole(kind, caller, target);
      const isSame =
        rule?.fingerprint === current.selection.rule?.fingerprint &&
        whole?.fingerprint === current.representation.whole?.fingerprint;
      if (!isSame) current = viewOf(rule, whole);
      return current;
    },
    intervals: (from, upTo) => {
      // The events would show what the caller could not see when they happened.
      if (isRefusedBetween(from, upTo)) throw gone(`too old resource version: ${from} (${upTo})`);
      const start = atRevision(from);
      const isUnchanged = compareMoments(views.changedAt(kind, caller), start) <= 0;
      const changes = isUnchanged ? [] : policyChangesBetween(from, upTo);
      if (changes === undefined || changes.length > MAX_INTERVALS) {
        const oldest = changes?.at(-MAX_INTERVALS);
        throw gone(`too old resource version: ${from} (${oldest === undefined ? upTo : revisionBefore(oldest) + 1})`);
      }
      return [start, ...changes].map((moment) => ({
        from: moment,
        selection: { ...base, rule: views.ruleAt(kind, caller, 'watch', moment) },
      }));
    },
  };
}
