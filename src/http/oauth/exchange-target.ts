import { isHandle } from '../../api/kinds/pass-spec.ts';
import { isClusterName, isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import type { Issuers } from '../../tokens/claims.ts';
import type { Form, FormUrl } from './form.ts';
import { refuse } from './oauth-error.ts';

/** RFC 8693 section 2.1, RFC 8707: what a token exchange asks for, by `audience`, `resource` and `scope`. */

/** RFC 6749 appendix A.4. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export interface ExchangeTarget {
  readonly cluster: string;
  /** Undefined: the token is for the subject itself. */
  readonly account: { readonly namespace: string; readonly name: string } | undefined;
  readonly audiences: readonly string[];
}

/** The scope of a token for the subject itself. It is also the default, for clients that can send no scope. */
export const PERSON_SCOPE = 'userpass';

/** The scope of a Pass, by its name: `pass:<handle>`. */
const HANDLE_SCOPE = 'pass:';

/** The handle that the scope names. It determines the token, so other parameters of a target are refused. */
export function readHandle(form: Form, url: FormUrl): string | undefined {
  const scope = (form.get('scope') ?? '').trim();
  if (!scope.split(' ').some((token) => token.startsWith(HANDLE_SCOPE))) return undefined;
  const handle = scope.slice(HANDLE_SCOPE.length);
  if (!isHandle(handle)) throw refuse('invalid_scope', `scope must be ${HANDLE_SCOPE}HANDLE and nothing else`);
  if (url.cluster !== undefined) throw refuse('invalid_target', 'a handle is redeemed at /oauth/token of the server');
  for (const parameter of ['audience', 'resource', 'expiration_seconds', 'tracked']) {
    if (form.getAll(parameter).length > 0) {
      throw refuse('invalid_request', `the handle determines the token: leave out ${parameter}`);
    }
  }
  return handle;
}

/** What a parameter names: a cluster, or an account in it. */
interface Named {
  readonly cluster: string;
  readonly account?: string;
}

export function readTarget(form: Form, url: FormUrl, issuers: Issuers): ExchangeTarget {
  const named: Named[] = [
    ...(url.cluster === undefined ? [] : [{ cluster: url.cluster }]),
    ...form.getAll('audience').map((text) => namedByAudience(text, issuers)),
    ...form.getAll('resource').map((text) => namedByIssuer(text, issuers) ?? unknownTarget('resource')),
  ];
  const { accounts, audiences, isForPerson } = readScope(form.get('scope') ?? '');
  const [cluster, ...otherClusters] = new Set(named.map((one) => one.cluster));
  if (cluster === undefined) throw refuse('invalid_target', 'name the cluster, as audience or as resource');
  if (otherClusters.length > 0) throw refuse('invalid_target', 'audience and resource must name one cluster');
  const byAudience = named.flatMap(({ account }) => account ?? []);
  const [account, ...otherAccounts] = new Set([...accounts, ...byAudience]);
  if (otherAccounts.length > 0) throw refuse('invalid_scope', 'a token is for one service account');
  if (account === undefined) return { cluster, account, audiences };
  if (isForPerson) throw refuse('invalid_scope', `scope must have a service account or ${PERSON_SCOPE}, not both`);
  const [namespace = '', name = ''] = account.split(':');
  return { cluster, account: { namespace, name }, audiences };
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
  const forms = parameter === 'audience' ? 'CLUSTER, CLUSTER:NAMESPACE:ACCOUNT or ' : '';
  throw refuse('invalid_target', `${parameter} must be ${forms}the issuer URL of a cluster`);
}

const isAccount = ([namespace = '', name = '', ...more]: readonly string[]): boolean =>
  more.length === 0 && isDns1123Label(namespace).length === 0 && isDns1123Subdomain(name).length === 0;

function readScope(scope: string) {
  const accounts: string[] = [];
  const audiences: string[] = [];
  let isForPerson = false;
  for (const token of scope.split(' ')) {
    if (token === '') continue;
    const [kind, ...rest] = token.split(':');
    const value = rest.join(':');
    if (token === PERSON_SCOPE) isForPerson = true;
    else if (kind === 'serviceaccount' && isAccount(rest)) accounts.push(value);
    else if (kind === 'aud' && value !== '' && SCOPE_TOKEN.test(token)) audiences.push(value);
    else throw refuse('invalid_scope', SCOPES);
  }
  return { accounts, audiences, isForPerson };
}

const SCOPES = `scope may have serviceaccount:NAMESPACE:NAME or ${PERSON_SCOPE}, and aud:AUDIENCE; or pass:HANDLE alone`;
