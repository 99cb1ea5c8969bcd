import { type Decision, type ResourceQuestion, tokenQuestion, userpassQuestion } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { type TokenRequest, tokenRequestType, USERPASS } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { parseTokenRequestOptions } from '../options/write-options.ts';
import { readBody } from '../write/read-body.ts';
import { type AccountTokenParts, accountToken } from './account-token.ts';
import { answerTokenRequest } from './answer-token-request.ts';
import { type PersonTokenParts, personToken } from './person-token.ts';
import type { IssueToken } from './token-input.ts';

type IssueTokenParts = AccountTokenParts &
  PersonTokenParts & {
    /** The decision that allows the caller what is asked, now. @throws ApiError 403 when nothing does. */
    readonly permissionFor: (caller: Caller, question: ResourceQuestion) => Decision;
  };

/**
 * Every token: for a TokenRequest, an item of a list, a token exchange and a redeemed pass. What may be issued and how
 * long it lasts is the same for all, and none leaves without its audit event.
 */
export function createIssueToken(parts: IssueTokenParts): IssueToken {
  return async (input, grant) => {
    const { caller, target } = input.request;
    const { subresource, cluster = '', namespace, name } = target;
    if (subresource === USERPASS) {
      return personToken(parts, input, grant ?? { permission: parts.permissionFor(caller, userpassQuestion(name)) });
    }
    const question = tokenQuestion({ cluster, namespace, name });
    return accountToken(parts, input, grant ?? { permission: parts.permissionFor(caller, question) });
  };
}

/**
 * `create` of `serviceaccounts/token`, as in `POST
 * /orchestrator/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`, and of `clusters/userpass`.
 */
export const createTokenHandler =
  (issueToken: IssueToken): ((request: ApiRequest) => Promise<ApiResponse>) =>
  async (request) => {
    const { dryRun, fieldValidation } = parseTokenRequestOptions(request.query);
    const sent = readBody<TokenRequest>(request, tokenRequestType, fieldValidation);
    return answerTokenRequest(request, await issueToken({ request, sent, dryRun }), sent);
  };
