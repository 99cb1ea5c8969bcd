import type { Caller } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { RequestScope } from '../../api/kinds/access-request-spec.ts';
import type { PolicyRule } from '../../api/kinds/rbac.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { PublicView } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { DecisionRules } from '../approvals/decision.ts';
import type { Views } from '../views.ts';
import type { GrantStore } from './grant-objects.ts';

/** What authz/ decides about access requests. `check…` throws the 403. */
interface RequestRules extends DecisionRules {
  checkRequest(caller: Caller, scope: RequestScope): void;
  checkApproval(
    caller: Caller,
    grant: RequestScope & {
      readonly name: string;
      readonly rules: readonly PolicyRule[];
      readonly role: string;
      readonly labels: Readonly<Record<string, string>> | undefined;
      readonly until: number;
    },
  ): void;
}

interface RequestLimits {
  /** The longest grant. */
  readonly maxDurationSeconds: number;
  readonly maxOpenPerCaller: number;
}

/** What the handlers of access requests share. */
export interface AccessRequestParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly views: Views;
  readonly publicView: PublicView;
  readonly rules: RequestRules;
  readonly grants: GrantStore;
  readonly limits: RequestLimits;
  /** The refusal of the policy for a request about all objects; undefined when a rule allows it. */
  readonly refusalOf: (request: ApiRequest) => ApiError | undefined;
  /** Throws while the clock is known to be wrong: an approval says when the access ends. */
  readonly requireRightClock: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}
