import type { Static } from 'typebox';
import { grantReview, via } from './grant-reviews.ts';
import { always, type BodyOf, flag, list, part, type Read, stringMap, struct, text } from './meta.ts';

const SubjectSchema = struct('GrantSubject', '', {
  kind: always(text('`User`, `Group` or `ServiceAccount`.')),
  namespace: text(),
  name: always(text()),
});

const GrantSchema = struct('ClusterGrant', '', {
  ...via,
  subjects: always(list(SubjectSchema)),
  change: always(text<'' | 'Begins' | 'Ends'>('`Begins`, `Ends`, or empty for a binding that holds before and after.')),
});

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
      grants: list(GrantSchema),
      incomplete: flag('True when you may not get all bindings, or when there are more than are listed.'),
      evaluationError: text('Why the list is incomplete.'),
    }),
  },
);

export type ClusterGrantReview = BodyOf<typeof clusterGrantReviewType>;

/** A binding that holds in a cluster, or would. */
export type ClusterGrant = Read<Static<typeof GrantSchema>>;
