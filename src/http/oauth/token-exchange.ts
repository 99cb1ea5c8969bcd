import { TOKEN_ANNOTATIONS, type TokenRequest } from '../../api/kinds/token-request.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import type { ApiError } from '../../api/status.ts';
import { Secret } from '../../observability/secret.ts';
import { withoutTokenWords } from '../../observability/token-text.ts';
import { type Issuers, isClusterName } from '../../tokens/claims.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../tokens/issuer-documents.ts';
import type { ResourceInfo } from '../request/request-info.ts';
import type { Form } from './form.ts';
import type { FormPlace, FormRoute } from './form-route.ts';
import { errorAnswer, jsonAnswer, jsonOf, OAuthError, type OAuthErrorCode, type Render } from './oauth-error.ts';

/** RFC 8693: the form of a token exchange becomes a TokenRequest, whose caller is the subject of `subject_token`. */

const TYPE = 'urn:ietf:params:oauth:token-type:';
const ACCESS_TOKEN = `${TYPE}access_token`;
const ID_TOKEN = `${TYPE}id_token`;
const JWT = `${TYPE}jwt`;
const SUBJECT_TYPES: ReadonlySet<string> = new Set([ACCESS_TOKEN, ID_TOKEN, JWT]);

const MAX_CLIENT_ID = 128;
/** RFC 6749 appendix A.4. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const SCHEME = /^[A-Za-z0-9-]{1,32}$/;

const refuse = (error: OAuthErrorCode, text: string): OAuthError => new OAuthError(error, text);

export function tokenExchange(issuers: () => Issuers): FormRoute {
  return {
    checkAuthorization,
    read(form, place) {
      checkGrant(form);
      const subject = subjectToken(form);
      const target = readTarget(form, place, issuers());
      const issuedType = requestedType(form, target, issuers());
      const { cluster, namespace, name } = target;
      const tokenRequest = {
        ...(form.get('tracked') === undefined
          ? {}
          : { metadata: { annotations: { [TOKEN_ANNOTATIONS.tracked]: form.get('tracked') } } }),
        spec: { audiences: target.audiences, ...lifetime(form) },
      };
      return {
        info: tokenRequestOf(cluster, namespace, name),
        query: dryRunOf(place),
        body: { bytes: Buffer.from(JSON.stringify(tokenRequest)), mediaType: 'application/json' },
        credential: new Secret(subject),
        annotations: annotationsOf(form),
        render: renderWith(issuedType, `serviceaccount:${namespace}:${name}`),
      };
    },
    render: renderWith(ACCESS_TOKEN, ''),
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

function subjectToken(form: Form): string {
  const token = form.required('subject_token');
  if (!SUBJECT_TYPES.has(form.required('subject_token_type'))) {
    throw refuse('invalid_request', `subject_token_type must be ${ACCESS_TOKEN}, ${ID_TOKEN} or ${JWT}`);
  }
  if (form.get('actor_token') !== undefined || form.get('actor_token_type') !== undefined) {
    throw refuse('invalid_request', 'actor tokens are not accepted: the subject itself is recorded as the actor');
  }
  return token;
}

interface ExchangeTarget {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly audiences: readonly string[];
}

/** What a parameter names: a cluster, or an account in it. */
interface Named {
  readonly cluster: string;
  readonly account?: string;
}

function readTarget(form: Form, place: FormPlace, issuers: Issuers): ExchangeTarget {
  const named: Named[] = [
    ...(place.cluster === undefined ? [] : [{ cluster: place.cluster }]),
    ...form.getAll('audience').map((text) => namedByAudience(text, issuers)),
    ...form.getAll('resource').map((text) => namedByIssuer(text, issuers) ?? unknownTarget('resource')),
  ];
  const { accounts, audiences } = readScope(form.get('scope') ?? '');
  const [cluster, ...otherClusters] = new Set(named.map((one) => one.cluster));
  if (cluster === undefined) throw refuse('invalid_target', 'name the cluster, as audience or as resource');
  if (otherClusters.length > 0) throw refuse('invalid_target', 'audience and resource must name one cluster');
  const byAudience = named.flatMap(({ account }) => account ?? []);
  const [account, ...otherAccounts] = new Set([...accounts, ...byAudience]);
  if (otherAccounts.length > 0) throw refuse('invalid_scope', 'a token is for one service account');
  if (account === undefined) {
    throw refuse('invalid_scope', 'name the service account: scope=serviceaccount:NAMESPACE:NAME');
  }
  const [namespace = '', name = ''] = account.split(':');
  return { cluster, namespace, name, audiences };
}

/** `CLUSTER`, `CLUSTER:NAMESPACE:ACCOUNT`, or the issuer of a cluster. Names of clusters have no colon. */
function namedByAudience(text: string, issuers: Issuers): Named {
  const byIssuer = namedByIssuer(text, issuers);
  if (byIssuer !== undefined) return byIssuer;
  const [cluster = '', ...account] = text.split(':');
  if (!isClusterName(cluster)) return unknownTarget('audience');
  if (account.length === 0) return { cluster };
  return isAccount(account) ? { cluster, account: account.join(':') } : unknownTarget('audience');
}

function namedByIssuer(text: string, issuers: Issuers): Named | undefined {
  const cluster = issuers.clusterOfIssuer(text);
  return cluster === undefined ? undefined : { cluster };
}

function unknownTarget(parameter: 'audience' | 'resource'): never {
  const forms = parameter === 'audience' ? 'CLUSTER, CLUSTER:NAMESPACE:ACCOUNT or' : '';
  throw refuse('invalid_target', `${parameter} must be ${forms} the issuer URL of a cluster`.replaceAll('  ', ' '));
}

const isAccount = ([namespace = '', name = '', ...more]: readonly string[]): boolean =>
  more.length === 0 && isDns1123Label(namespace).length === 0 && isDns1123Subdomain(name).length === 0;

function readScope(scope: string): { accounts: readonly string[]; audiences: readonly string[] } {
  const accounts: string[] = [];
  const audiences: string[] = [];
  for (const token of scope.split(' ')) {
    if (token === '') continue;
    const [kind, ...rest] = token.split(':');
    const value = rest.join(':');
    if (kind === 'serviceaccount' && isAccount(rest)) accounts.push(value);
    else if (kind === 'aud' && value !== '' && SCOPE_TOKEN.test(token)) audiences.push(value);
    else throw refuse('invalid_scope', 'scope may have serviceaccount:NAMESPACE:NAME and aud:AUDIENCE, nothing else');
  }
  return { accounts, audiences };
}

/** RFC 8693 section 3. A token for the API of the cluster is an access token, so it is not issued as an ID token. */
function requestedType(form: Form, { cluster, audiences }: ExchangeTarget, issuers: Issuers): string {
  const type = form.get('requested_token_type') ?? ACCESS_TOKEN;
  if (type === ACCESS_TOKEN || type === JWT) return type;
  if (type !== ID_TOKEN) {
    throw refuse('invalid_request', `requested_token_type must be ${ACCESS_TOKEN}, ${JWT} or ${ID_TOKEN}`);
  }
  if (audiences.length === 0 || audiences.includes(issuers.issuerFor(cluster))) {
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

/** Other parameters of the query would be options of the TokenRequest; this endpoint takes its options in the form. */
function dryRunOf({ query }: FormPlace): URLSearchParams {
  return new URLSearchParams(query.getAll('dryRun').map((value) => ['dryRun', value]));
}

function annotationsOf(form: Form): ReadonlyMap<string, string> {
  const clientId = form.get('client_id');
  const all = new Map([['clusterpass.dev/grant', 'token-exchange']]);
  if (clientId !== undefined) {
    all.set('clusterpass.dev/unverified-client-id', withoutTokenWords(clientId).slice(0, MAX_CLIENT_ID).toWellFormed());
  }
  return all;
}

function tokenRequestOf(cluster: string, namespace: string, name: string): ResourceInfo {
  const account = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token' } as const;
  return {
    type: 'resource',
    target: { ...account, version: 'v1', cluster, namespace, name, alwaysPublic: false },
    question: { ...account, cluster, namespace, name },
  };
}

/** RFC 8693 section 2.2.1. */
function renderWith(issuedType: string, account: string): Render {
  return (answer) => {
    if (answer.type === 'status') return errorAnswer(answer.error, translate);
    const { spec, status } = jsonOf(answer) as TokenRequest;
    const token = status?.token ?? '';
    const isDryRun = token === '';
    const audiences = (spec?.audiences ?? []).map((audience) => `aud:${audience}`);
    return jsonAnswer({
      access_token: token,
      issued_token_type: issuedType,
      token_type: isDryRun || issuedType === ID_TOKEN ? 'N_A' : 'Bearer',
      expires_in: spec?.expirationSeconds ?? 0,
      scope: [account, ...audiences].join(' '),
    });
  };
}

const SUBJECT_REFUSED =
  'the subject token is not accepted: it is malformed, expired, revoked, of an unknown issuer, or for another audience';
const TARGET_REFUSED =
  'the cluster or the service account does not exist, or the subject may not create tokens of this account';

function translate({ status: { code, details } }: ApiError): OAuthError | undefined {
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
      const isAudience = cause?.field?.startsWith('spec.audiences') === true;
      const parameter = isAudience ? 'scope' : (PARAMETERS[cause?.field ?? ''] ?? 'the request');
      return refuse(isAudience ? 'invalid_scope' : 'invalid_request', `${parameter}: ${cause?.message ?? ''}`);
    }
    default:
      return undefined;
  }
}

/** Fields of a TokenRequest, as this endpoint names them. */
const PARAMETERS: Readonly<Record<string, string>> = {
  'spec.expirationSeconds': 'expiration_seconds',
  [`metadata.annotations[${TOKEN_ANNOTATIONS.tracked}]`]: 'tracked',
  dryRun: 'dryRun',
};
