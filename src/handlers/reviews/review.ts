import type { Authorizer, GrantFinder, RuleLister } from '../../api/authorization.ts';
import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject, ObjectMeta } from '../../api/kind.ts';
import type { TokenFindings, TokenQuestion } from '../../api/kinds/token-review.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { RecentEvents } from '../../observability/audit/recent-events.ts';
import type { Secret } from '../../observability/secret.ts';

/** What the reviews share. */
export interface ReviewParts {
  readonly authorizer: Authorizer & GrantFinder & RuleLister;
  readonly catalog: Pick<Catalog, 'clusters' | 'serviceAccounts'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'catchUp' | 'find'>;
  readonly reviewToken: ReviewToken;
  readonly recentEvents: Pick<RecentEvents, 'find' | 'instance' | 'sequence' | 'since'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type ReviewToken = (token: Secret, asked: TokenQuestion) => Promise<TokenFindings>;

/** What a review answers. Default: no metadata, and the spec that was sent. */
interface Reviewed {
  readonly metadata?: ObjectMeta;
  readonly spec?: object;
  readonly status: object;
}

/** Answers one type of review: the body that was sent to the body that is returned. */
export type Review = (parts: ReviewParts, request: ApiRequest, sent: ApiObject) => Reviewed | Promise<Reviewed>;

/** `status.user` and `status.userInfo`: Kubernetes omits empty fields. */
export const userInfo = ({ name, uid, groups, extra }: User): object => ({
  username: name,
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra }),
});
