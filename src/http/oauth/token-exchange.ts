import { passKind } from '../../api/kinds/pass.ts';
import { TOKEN_ANNOTATIONS, type TokenRequest } from '../../api/kinds/token-request.ts';
import type { ApiError } from '../../api/status.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { truncate, withoutTokenWords } from '../../lib/text.ts';
import { Secret } from '../../observability/secret.ts';
import type { Issuers } from '../../tokens/claims.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../tokens/issuer-documents.ts';
import { unverifiedClaims } from '../../tokens/jws.ts';
import { type ResourceInfo, requestFor, tokenRequestInfo, userpassInfo } from '../request/request-info.ts';
import { jsonOf } from '../response/respond.ts';
import { type ExchangeTarget, PERSON_SCOPE, readHandle, readTarget } from './exchange-target.ts';
import { dryRunOf, type Form, type FormRequest, type FormRoute, type FormUrl } from './form.ts';
import { errorAnswer, jsonAnswer, OAuthError, type Render, refuse, type Translate } from './oauth-error.ts';

/** RFC 8693 section 3. */
const TYPE = 'urn:ietf:params:oauth:token-type:';
export const ACCESS_TOKEN = `${TYPE}access_token`;
export const ID_TOKEN = `${TYPE}id_token`;
export const JWT = `${TYPE}jwt`;

/**
 * RFC 8693: the form of a token exchange becomes a TokenRequest, for an account or for a person. Its caller is the
 * subject of `subject_token`.
 */

const SUBJECT_TYPES: ReadonlySet<string> = new Set([ACCESS_TOKEN, ID_TOKEN, JWT]);

const MAX_CLIENT_ID = 128;
const SCHEME = /^[A-Za-z0-9-]{1,32}$/;

export function tokenExchange(issuers: () => Issuers): FormRoute {
  return {
    checkAuthorization,
    read(form, url) {
      checkGrant(form);
      const subject = form.required('subject_token');
      checkType(form, 'subject_token_type');
      const actor = actorToken(form, subject);
      const credentials = {
        credential: new Secret(subject),
        ...(actor === undefined ? {} : { actorCredential: new Secret(actor) }),
      };
      const handle = readHandle(form, url);
      if (handle !== undefined) return { ...redemption(form, url, handle), ...credentials };
      const target = readTarget(form, url, issuers());
      const issuedType = requestedType(form, target, issuers());
      const tokenRequest = {
        ...(form.get('tracked') === undefined
          ? {}
          : { metadata: { annotations: { [TOKEN_ANNOTATIONS.tracked]: form.get('tracked') } } }),
        spec: { audiences: target.audiences, ...lifetime(form) },
      };
      return {
        info: requestOf(target),
        query: dryRunOf(url),
        body: { value: tokenRequest },
        ...credentials,
        annotations: annotationsOf(form),
        render: renderExchange(issuedType, target.account === undefined ? translatePerson : translateAccount),
      };
    },
    render: renderExchange(ACCESS_TOKEN, translatePerson),
  };
}

/**
 * RFC 6749 section 5.2. No clients are registered, and a secret that is not checked must not look as if it were. A
 * bearer token in the header could be taken for the subject.
 */
function checkAuthorization(authorization: string | undefined): void {
  if (authorization === undefined) return;
  const [scheme = ''] = authorization.trim().split(' ', 1);
  if (scheme.toLowerCase() === 'bearer') {
    throw refuse('invalid_request', 'send the subject token as the parameter subject_token, without Authorization');
  }
  throw new OAuthError('invalid_client', NO_CLIENTS, { code: 401, challenge: SCHEME.test(scheme) ? scheme : 'Basic' });
}

const NO_CLIENTS = 'clients are not registered here: send no client secret and no client assertion';

function checkGrant(form: Form): void {
  if (form.required('grant_type') !== TOKEN_EXCHANGE_GRANT) {
    throw refuse('unsupported_grant_type', `the only grant_type is ${TOKEN_EXCHANGE_GRANT}`);
  }
  for (const name of ['client_secret', 'client_assertion', 'client_assertion_type']) {
    if (form.get(name) !== undefined) throw refuse('invalid_client', NO_CLIENTS);
  }
}

function checkType(form: Form, parameter: string): void {
  if (SUBJECT_TYPES.has(form.required(parameter))) return;
  throw refuse('invalid_request', `${parameter} must be ${ACCESS_TOKEN}, ${ID_TOKEN} or ${JWT}`);
}

/**
 * RFC 8693 section 4.4: a subject token may say who may act for it. The claims of both tokens count because a later
 * stage verifies both.
 */
function actorToken(form: Form, subject: string): string | undefined {
  const actor = form.get('actor_token');
  if (actor === undefined) {
    if (form.get('actor_token_type') === undefined) return undefined;
    throw refuse('invalid_request', 'actor_token_type needs an actor_token');
  }
  checkType(form, 'actor_token_type');
  const { may_act: mayAct, iss } = unverifiedClaims(subject) ?? {};
  if (mayAct !== undefined && !isNamedBy(mayAct, unverifiedClaims(actor) ?? {}, iss)) {
    throw refuse('invalid_request', 'the claim may_act of the subject token names another actor');
  }
  return actor;
}

/** A subject is unique within its issuer only (RFC 7519 section 4.1.2), so `may_act` without `iss` means its own. */
function isNamedBy(mayAct: unknown, actor: JsonObject, subjectIssuer: unknown): boolean {
  if (!isJsonObject(mayAct) || typeof mayAct.sub !== 'string') return false;
  const { sub, iss = subjectIssuer } = mayAct;
  return sub === actor.sub && iss === actor.iss;
}

/** RFC 8693 section 3. A token for the API of the cluster is an access token, so it is not issued as an ID token. */
function requestedType(form: Form, target: ExchangeTarget, issuers: Issuers): string {
  const { cluster, account, audiences } = target;
  const type = form.get('requested_token_type') ?? ACCESS_TOKEN;
  if (type === ACCESS_TOKEN || type === JWT) return type;
  if (type !== ID_TOKEN) {
    throw refuse('invalid_request', `requested_token_type must be ${ACCESS_TOKEN}, ${JWT} or ${ID_TOKEN}`);
  }
  if (account === undefined || audiences.length === 0 || audiences.includes(issuers.issuerFor(cluster))) {
    throw refuse('invalid_request', 'a token for the API of the cluster is an access_token, not an id_token');
  }
  return type;
}

/** The bounds are those of a TokenRequest. */
function lifetime(form: Form): { expirationSeconds?: number } {
  const text = form.get('expiration_seconds');
  if (text === undefined) return {};
  if (!/^\d{1,10}$/.test(text)) throw refuse('invalid_request', 'expiration_seconds must be a whole number of seconds');
  return { expirationSeconds: Number(text) };
}

function annotationsOf(form: Form): ReadonlyMap<string, string> {
  const clientId = form.get('client_id');
  const all = new Map([['clusterpass.dev/grant', 'token-exchange']]);
  if (clientId !== undefined) {
    all.set('clusterpass.dev/unverified-client-id', truncate(withoutTokenWords(clientId), MAX_CLIENT_ID));
  }
  return all;
}

function requestOf({ cluster, account }: ExchangeTarget): ResourceInfo {
  return account === undefined ? userpassInfo(cluster) : tokenRequestInfo(cluster, account.namespace, account.name);
}

/** A handle is redeemed as `create` of `passes/token`, whose handler knows what it is for. */
function redemption(form: Form, url: FormUrl, handle: string): FormRequest {
  const type = form.get('requested_token_type') ?? ACCESS_TOKEN;
  if (type !== ACCESS_TOKEN && type !== JWT) {
    throw refuse('invalid_request', `requested_token_type must be ${ACCESS_TOKEN} or ${JWT}`);
  }
  return {
    info: requestFor(passKind, 'create', { subresource: 'token', name: handle }),
    query: dryRunOf(url),
    body: verifierBody(form),
    annotations: annotationsOf(form),
    render: renderExchange(type, translateHandle),
  };
}

/** RFC 7636 section 4.5. */
function verifierBody(form: Form): FormRequest['body'] {
  const verifier = form.get('code_verifier');
  if (verifier === undefined) return undefined;
  return { value: { metadata: { annotations: { [TOKEN_ANNOTATIONS.codeVerifier]: verifier } } } };
}

/** RFC 8693 section 2.2: the answer to a TokenRequest as the answer to a token exchange. */

/** RFC 8693 section 2.2.1. `translate`: what an error of the API means for this request. */
function renderExchange(issuedType: string, translate: Translate): Render {
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

function translateAccount({ status: { code, details } }: ApiError): OAuthError | undefined {
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

function translateHandle(error: ApiError): OAuthError | undefined {
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
