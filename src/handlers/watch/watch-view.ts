import { hash } from 'node:crypto';
import type { Kind } from '../../api/kind.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { ListOptions } from '../options/list-options.ts';
import type { Representation } from '../representation.ts';
import type { Selection } from '../selection.ts';
import { representationFor, selectionFor, type Views } from '../views.ts';

/** What one watch shows. Replaced as a whole when a permission change affects the caller. */
export interface WatchView {
  /** Views of the same group show the same events as the same bytes. */
  readonly groupId: string;
  readonly selection: Selection;
  readonly representation: Representation;
}

export interface WatchViews {
  /** The view under the rules in force now. */
  readonly current: () => WatchView;
  /** Whether time alone has not changed what `current` returned last. */
  readonly isSteady: (time: number) => boolean;
}

/** For so long a watch waits for the event of the deletion of a binding that has ended. */
const FOLLOW_MS = 1_000;

/** `watchId`: a number that no other watch has. */
export function createWatchViews(
  { views, watchId }: { readonly views: Views; readonly watchId: number },
  request: ApiRequest,
  kind: Kind,
  options: ListOptions,
): WatchViews {
  const { caller, target } = request;
  const base = selectionFor(request, kind, options, views);
  const form = representationFor(request, kind, views);
  const streamed: Representation = form.form === 'table' ? { ...form, streamed: { namesColumns: true } } : form;
  // A selector may be 16 KB long, and each view of each watch has the name of its group.
  const selectors = hash('sha256', JSON.stringify([base.labels.toString(), base.fields.toString()]), 'base64url');
  // The first event of a table names its columns, so a table has a group to itself.
  const table = form.form === 'table' ? watchId : 0;
  const viewOf = (rule: Selection['rule'], whole: Representation['whole']): WatchView => {
    const { clientAddress: address } = form;
    const rules = [rule?.fingerprint, whole?.fingerprint];
    return {
      groupId: JSON.stringify([base.prefix, selectors, ...rules, form.form, table, address]),
      selection: { ...base, rule },
      representation: { ...streamed, whole },
    };
  };
  let current = viewOf(base.rule, form.whole);
  let span = views.spanOf(caller);
  return {
    current: () => {
      span = views.spanOf(caller);
      const rule = views.rule(kind, caller, 'watch');
      const whole = views.whole(kind, caller, target);
      const isSame =
        rule?.fingerprint === current.selection.rule?.fingerprint &&
        whole?.fingerprint === current.representation.whole?.fingerprint;
      if (!isSame) current = viewOf(rule, whole);
      return current;
    },
    // The clock may also go back: then a binding holds again.
    isSteady: (time) => span.from <= time && time < span.until + FOLLOW_MS,
  };
}
