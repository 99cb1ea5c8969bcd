import { type FieldError, forbiddenField, invalid, invalidValue, required } from '../../api/field-error.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { TOKEN_ANNOTATIONS, type TokenRequest } from '../../api/kinds/token-request.ts';
import {
  type IssuedPass,
  type RequestedPass,
  type TokenRequestList,
  tokenRequestListType,
} from '../../api/kinds/token-request-list.ts';
import { isClusterName, isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import type { RequestBody } from '../../api/request.ts';
import { badRequest } from '../../api/status.ts';
import { parseTokenRequestOptions } from '../../handlers/options/write-options.ts';
import { readBody } from '../../handlers/write/read-body.ts';
import { clip } from '../../lib/text.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import type { Exchange } from '../exchange.ts';
import { tokenRequestInfo, userpassInfo } from '../request/token-request-info.ts';
import { type Answer, jsonOf } from '../response/respond.ts';
import type { Stage, StageParts } from './stage.ts';
import { answerSubrequest, recordFailure } from './subrequest.ts';

/** Subrequests at once: they share the writes of the audit log, and other requests are served between them. */
const CONCURRENCY = 32;

/**
 * `/auth/v1/passes`: tokens of many clusters in one request. Each item is a TokenRequest of the same caller, which the
 * stages authorize, handle and record like any other: a list gives nothing that single requests would not give.
 */
export const issueTokenList: Stage = async (x, parts) => {
  if (x.body === undefined) throw badRequest('the body must be a TokenRequestList');
  const { fieldValidation } = parseTokenRequestOptions(x.query);
  const { items: requested = [] } = readBody<TokenRequestList>(x, tokenRequestListType, fieldValidation);
  if (requested.length === 0)
    throw invalid(tokenRequestListType, '', [required('items', 'name at least one service account')]);
  const items = new Array<IssuedPass>(requested.length);
  const slice = new TimeSlice(x);
  let next = 0;
  const issueSome = async (): Promise<void> => {
    while (next < requested.length && x.deadline.isOpen) {
      const index = next++;
      items[index] = await issueOne(x, parts, requested[index] ?? {}, index);
      if (slice.isUsedUp) await slice.next();
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, requested.length) }, issueSome));
  x.answer = {
    type: 'value',
    code: 200,
    value: { kind: tokenRequestListType.kind, apiVersion: apiVersionOf(tokenRequestListType), items },
  };
};

/** Never rejects: an item that fails does not fail the others. */
async function issueOne(x: Exchange, parts: StageParts, requested: RequestedPass, index: number): Promise<IssuedPass> {
  const { cluster = '', namespace = '', serviceAccount = '', userpass = false } = requested;
  const named = userpass
    ? { cluster: repeatedName(cluster), userpass }
    : {
        cluster: repeatedName(cluster),
        namespace: repeatedName(namespace),
        serviceAccount: repeatedName(serviceAccount),
      };
  const info = userpass ? userpassInfo(cluster) : tokenRequestInfo(cluster, namespace, serviceAccount);
  const item = x.subrequest(info, tokenRequestBody(requested));
  item.annotate('clusterpass.dev/item', String(index));
  try {
    checkNames(requested, index);
    const issued = issuedBy(await answerSubrequest(item, parts));
    parts.observeSubrequest(item, CREATED);
    return { ...named, ...issued };
  } catch (error) {
    return { ...named, error: recordFailure(item, parts, error) };
  }
}

const CREATED = 201;

function issuedBy(answer: Answer): Pick<IssuedPass, 'audiences' | 'token' | 'expirationTimestamp'> {
  const issued = jsonOf(answer) as TokenRequest | undefined;
  if (issued === undefined) throw new Error('a token request is answered with JSON');
  const { spec, status } = issued;
  return {
    audiences: spec?.audiences ?? [],
    token: status?.token ?? '',
    ...(status?.expirationTimestamp === undefined ? {} : { expirationTimestamp: status.expirationTimestamp }),
  };
}

/** The request line parser checks the names in a path, not those in a body. */
function checkNames(requested: RequestedPass, index: number): void {
  const at = `items[${index}]`;
  const { cluster = '', userpass = false } = requested;
  const errors: FieldError[] = [
    ...(isClusterName(cluster)
      ? []
      : [invalidValue(`${at}.cluster`, briefName(cluster), 'must be the name of a cluster')]),
    ...(userpass ? personErrors(requested, at) : accountErrors(requested, at)),
  ];
  if (errors.length > 0) throw invalid(tokenRequestListType, '', errors);
}

/** The longest name of anything in Kubernetes (RFC 1123). */
const MAX_NAME = 253;
const MAX_BRIEF = 64;

/** A response repeats wrong names several times, for 500 items: names of 1,000 characters made it five megabytes. */
const briefName = (name: string): string => clip(name, MAX_BRIEF);

/** A name in the item of the response: as it was sent, unless it can be no name. */
const repeatedName = (name: string): string => (name.length <= MAX_NAME ? name : briefName(name));

const accountErrors = ({ namespace = '', serviceAccount = '' }: RequestedPass, at: string): FieldError[] => [
  ...nameErrors(`${at}.namespace`, namespace, isDns1123Label),
  ...nameErrors(`${at}.serviceAccount`, serviceAccount, isDns1123Subdomain),
];

const nameErrors = (field: string, name: string, problemsOf: (name: string) => readonly string[]): FieldError[] =>
  name === '' ? [required(field)] : problemsOf(name).map((why) => invalidValue(field, briefName(name), why));

const personErrors = ({ namespace = '', serviceAccount = '' }: RequestedPass, at: string): FieldError[] =>
  Object.entries({ namespace, serviceAccount })
    .filter(([, value]) => value !== '')
    .map(([field]) => forbiddenField(`${at}.${field}`, 'may not be set together with userpass'));

function tokenRequestBody({ audiences = [], expirationSeconds, tracked }: RequestedPass): RequestBody {
  const annotations = tracked === undefined ? undefined : { [TOKEN_ANNOTATIONS.tracked]: String(tracked) };
  return { value: { metadata: { annotations }, spec: { audiences, expirationSeconds } } };
}
