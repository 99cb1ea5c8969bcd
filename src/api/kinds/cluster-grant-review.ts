import { Type } from 'typebox';
import { type GrantPath, grantReview, via } from './grant-reviews.ts';
import { flag, stringMap, text } from './meta.ts';

const subjects = Type.Optional(
  Type.Array(
    Type.Object(
      { kind: text('`User`, `Group` or `ServiceAccount`.'), namespace: text(), name: text() },
      { goType: 'GrantSubject' },
    ),
    { goType: '[]GrantSubject' },
  ),
);

/** Bindings select clusters by labels: what a change of labels gives to whom, and takes from whom. */
export const clusterGrantReviewType = grantReview(
  'ClusterGrantReview',
  'The bindings that hold in a cluster. With labels: those that would begin and cease to hold with these labels.',
  {
    spec: Type.Optional(
      Type.Object(
        {
          labels: stringMap('All labels that the cluster would have; absent: those that it has.', {
            maxProperties: 1_000,
          }),
        },
        { goType: 'ClusterGrantReviewSpec', description: 'Sent below the path of the cluster, which need not exist.' },
      ),
    ),
    status: Type.Optional(
      Type.Object(
        {
          grants: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  ...via,
                  subjects,
                  change: text('`Begins`, `Ends`, or empty for a binding that holds before and after.'),
                },
                { goType: 'ClusterGrant' },
              ),
              { goType: '[]ClusterGrant' },
            ),
          ),
          incomplete: flag('True when you may not get all bindings, or when there are more than are listed.'),
          evaluationError: text('Why the list is incomplete.'),
        },
        { goType: 'ClusterGrantReviewStatus' },
      ),
    ),
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
