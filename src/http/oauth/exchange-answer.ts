import { TOKEN_ANNOTATIONS, type TokenRequest } from '../../api/kinds/token-request.ts';
import type { ApiError } from '../../api/status.ts';
import { jsonOf } from '../response/respond.ts';
import { PERSON_SCOPE } from './exchange-target.ts';
import { errorAnswer, jsonAnswer, type OAuthError, type Render, refuse, type Translate } from './oauth-error.ts';
import { ID_TOKEN } from './token-types.ts';

/** RFC 8693 section 2.2: the answer to a TokenRequest as the answer to a token exchange. */

/** RFC 8693 section 2.2.1. `translate`: what an error of the API means for this request. */
export function renderExchange(issuedType: string, translate: Translate): Render {
  return (answer) => {
    if (answer.type === 'status') return errorAnswer(answer.error, translate);
    const { metadata, spec, status } = jsonOf(answer) as TokenRequest;
    const isForAccount = (metadata?.namespace ?? '') !== '';
    const subject = isForAccount ? `serviceaccount:${metadata?.namespace}:${metadata?.name}` : PERSON_SCOPE;
    const token = status?.token ?? '';
    const isDryRun = token === '';
    const audiences = (spec?.audiences ?? []).map((audience) => `aud:${audience}`);
    return jsonAnswer({
      access_token: token,
      issued_token_type: issuedType,
      token_type: isDryRun || issuedType === ID_TOKEN ? 'N_A' : 'Bearer',
      expires_in: spec?.expirationSeconds ?? 0,
      scope: [subject, ...audiences].join(' '),
    });
  };
}

const SUBJECT_REFUSED =
  'the subject token, or the actor token, is not accepted: it is malformed, expired, revoked, of an unknown issuer, or ' +
  'for another audience';
const PERSON_REFUSED =
  'name the service account, scope=serviceaccount:NAMESPACE:NAME; for a pass without one, the cluster does not exist, or ' +
  'the subject is no person who may create clusters/userpass';
const TARGET_REFUSED =
  'the cluster or the service account does not exist, or the subject may not create tokens of this account';

/** For a token of an account. */
export function translateAccount({ status: { code, details } }: ApiError): OAuthError | undefined {
  switch (code) {
    // RFC 8693 section 2.2.2: not invalid_grant.
    case 401:
      return refuse('invalid_request', SUBJECT_REFUSED);
    // One text for both: it does not tell what exists.
    case 403:
    case 404:
      return refuse('invalid_target', TARGET_REFUSED);
    case 422: {
      const [cause] = details?.causes ?? [];
      const { field = '', message = '' } = cause ?? {};
      if (field === 'groups') return refuse('invalid_scope', `the groups of the subject: ${message}`);
      if (field.startsWith('spec.audiences')) return refuse('invalid_scope', `scope: ${message}`);
      return refuse('invalid_request', `${PARAMETERS[field] ?? 'the request'}: ${message}`);
    }
    default:
      return undefined;
  }
}

/** TX-32: without an account the scope is what the subject may not have. */
export function translatePerson(error: ApiError): OAuthError | undefined {
  switch (error.status.code) {
    case 403:
    case 404:
      return refuse('invalid_scope', PERSON_REFUSED);
    case 409:
      return refuse('invalid_target', error.message);
    default:
      return translateAccount(error);
  }
}

const HANDLE_REFUSED = 'there is no such handle, or it is not one of the subject';

export function translateHandle(error: ApiError): OAuthError | undefined {
  switch (error.status.code) {
    case 404:
      return refuse('invalid_scope', HANDLE_REFUSED);
    // The requester may know the state of its handle.
    case 403:
    case 409:
      return refuse('invalid_scope', error.message);
    default:
      return translateAccount(error);
  }
}

/** Fields of a TokenRequest, as this endpoint names them. */
const PARAMETERS: Readonly<Record<string, string>> = {
  'spec.expirationSeconds': 'expiration_seconds',
  [`metadata.annotations[${TOKEN_ANNOTATIONS.tracked}]`]: 'tracked',
  dryRun: 'dryRun',
};
