import type { ResourceQuestion } from '../../api/authorization.ts';
import type { Caller, User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import type { RequestedAccess } from '../../api/kinds/access-request-spec.ts';
import {
  approvalStatus,
  isOpenPhase,
  type RequestCondition,
  type RequestScope,
  type RequestUser,
} from '../../api/kinds/approval.ts';
import { clientLabels, REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from '../../api/kinds/approval-kind.ts';
import { COUNTED_LABEL, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { PublicView, StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Guard } from '../../storage/contract.ts';
import type { OwnedParts } from '../get.ts';
import { requesterOf } from '../requester.ts';

/**
 * The table of what people approve (ADR 49): a row says for one kind who decides, what an approval grants, and how that
 * ends. Decisions, deletions, quotas and the sweep are the same for all rows.
 */
export interface Approvable extends Ending {
  /** Absent where it is the one of every kind. */
  readonly create?: (request: ApiRequest) => Promise<ApiResponse>;
  /** The phase after an approval. */
  readonly granted: 'Approved' | 'Ready';
  /** The types of conditions that the subresource `approval` takes. */
  readonly decisions: readonly string[];
  readonly scopeOf: (object: ApiObject) => RequestScope;
  /** Who decides about it: always a caller who may see it, and never an agent. Undefined: it needs no decision. */
  readonly deciderOf: (object: ApiObject) => 'another person' | 'the requester' | undefined;
  /** What is asked for, part by part. Empty: the requester holds it already. */
  readonly accessOf: (object: ApiObject) => readonly RequestedAccess[];
  /** The command with which the requester uses what was granted. */
  readonly next: (object: ApiObject) => string | undefined;
  /** Why requesters may not decide, where another person has to. */
  readonly ownRefusal: string;
  /** What an approval grants. @throws ApiError if the approver may not grant it, or it cannot be granted. */
  readonly grant: (asked: Granting) => Grant;
  /** The audit event says what was requested, by whom and where. */
  readonly annotate: (request: ApiRequest, object: ApiObject) => void;
  /** Warns of what a deletion does not end. `revoked`: what it has ended. */
  readonly warnAfterDeletion?: (request: ApiRequest, deleted: ApiObject, revoked: readonly string[]) => void;
}

/** How the objects of one kind end. */
export interface Ending {
  readonly kind: Kind;
  /** The phase of one that ends by itself, and the type of its last condition. */
  readonly ended: 'Expired' | 'Ended';
  /** For the last condition of what was granted, when its time is over. */
  readonly timeOver: string;
  /** The last condition of one that is being deleted. */
  readonly deletion: { readonly type: string; readonly reason: string };
  /** How long finished ones are kept. */
  readonly retentionMs: number;
  /** Why an open one ends before its time. `time` as in the sweep. */
  readonly endsEarly: (entry: StoredObject, time: number) => EndReason | undefined;
  /** What a crash has left of a finished one: something that was granted, or a deletion. */
  readonly leftover: (entry: StoredObject) => 'grant' | 'deletion' | undefined;
  /** Ends what was granted, as far as it has not ended. Returns the ids of the tokens that it has revoked. */
  readonly revoke: (object: ApiObject, by: User, guards?: readonly Guard[]) => Promise<readonly string[]>;
}

/** For people: `reason` is one word. */
export interface EndReason {
  readonly reason: string;
  readonly message: string;
}

export interface Granting {
  readonly request: ApiRequest;
  readonly entry: StoredObject;
  readonly object: ApiObject;
  /** When what is granted ends, in epoch milliseconds. */
  readonly until: number;
}

export interface Grant {
  /** Throws if it may no longer be granted. Called just before the status is written. */
  readonly check: () => void;
  /** Fields of the status. */
  readonly status: object;
  /** Called before the status is written, and after it: both repeat without harm. */
  readonly prepare?: () => Promise<void>;
  readonly complete?: (approved: ApiObject) => Promise<void>;
}

/** What the rows share. */
export interface ApprovalParts extends OwnedParts {
  readonly catalog: Catalog;
  readonly writer: ObjectWriter;
  readonly publicView: PublicView;
  /** The 403 of a caller who may not decide this object; without a scope, of one who may not decide every one. */
  readonly decisionRefusal: (kind: Kind, caller: Caller, name: string, scope?: RequestScope) => ApiError | undefined;
  /** Whether a requester, as it was recorded, has a permission now. */
  readonly holds: (requester: RequestUser | undefined, question: ResourceQuestion) => boolean;
  /** Whether the cluster issues its own tokens: then it knows its accounts itself. */
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
  /** Throws while the clock is known to be wrong: an approval says when it ends. */
  readonly requireRightClock: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The object at its end; one that is finished stays as it is. */
export function withEnd(object: ApiObject, condition: RequestCondition): ApiObject {
  const status = approvalStatus(object);
  if (!isOpenPhase(status.phase)) return object;
  return {
    ...object,
    status: { ...status, phase: condition.type, conditions: [...(status.conditions ?? []), condition] },
  };
}

/** The labels of a new object. `counted`: for whom it counts. */
export const labelsFor = (
  { labels }: ApiObject['metadata'],
  caller: Caller,
  counted: string,
  { cluster, namespace }: RequestScope,
): Record<string, string> => ({
  ...clientLabels(labels),
  [REQUESTER_LABEL]: requesterOf(caller),
  [COUNTED_LABEL]: counted,
  [REQUEST_CLUSTER_LABEL]: cluster,
  ...(namespace === '' ? {} : { [REQUEST_NAMESPACE_LABEL]: namespace }),
});
