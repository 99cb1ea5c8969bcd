import { type GrantPath, grantReview, via } from './grant-reviews.ts';
import { flag, list, part, stringMap, struct, text } from './meta.ts';

const subjects = list(
  struct('GrantSubject', '', { kind: text('`User`, `Group` or `ServiceAccount`.'), namespace: text(), name: text() }),
);

/** Bindings select clusters by labels: what a change of labels gives to whom, and takes from whom. */
export const clusterGrantReviewType = grantReview(
  'ClusterGrantReview',
  'The bindings that hold in a cluster. With labels: those that would begin and cease to hold with these labels.',
  {
    spec: part('ClusterGrantReviewSpec', 'Sent below the path of the cluster, which need not exist.', {
      labels: stringMap('All labels that the cluster would have; absent: those that it has.', {
        maxProperties: 1_000,
      }),
    }),
    status: part('ClusterGrantReviewStatus', '', {
      grants: list(
        struct('ClusterGrant', '', {
          ...via,
          subjects,
          change: text('`Begins`, `Ends`, or empty for a binding that holds before and after.'),
        }),
      ),
      incomplete: flag('True when you may not get all bindings, or when there are more than are listed.'),
      evaluationError: text('Why the list is incomplete.'),
    }),
  },
);

/** The fields that callers send. */
export interface ClusterGrantReview {
  spec?: { labels?: Record<string, string> };
}

/** A binding that holds in a cluster, or would. */
export interface ClusterGrant extends GrantPath {
  readonly subjects: readonly { readonly kind: string; readonly namespace?: string; readonly name: string }[];
  readonly change: '' | 'Begins' | 'Ends';
}
