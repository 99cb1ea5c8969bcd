import { apiVersionOf } from '../../api/kind.ts';
import {
  type IssuedPass,
  type RequestedPass,
  TOKEN_ANNOTATIONS,
  type TokenRequestList,
  tokenRequestListType,
} from '../../api/kinds/token-request.ts';
import { isClusterName, isDns1123Label, isDns1123Subdomain } from '../../api/names.ts';
import { badRequest, type FieldError, forbiddenField, invalid, invalidValue, required } from '../../api/status.ts';
import { parseTokenRequestOptions } from '../../handlers/options/write-options.ts';
import { CREATED, type TokenInput } from '../../handlers/token/token-input.ts';
import { readBody } from '../../handlers/write/read-body.ts';
import { pause } from '../../lib/backoff.ts';
import { clip } from '../../lib/text.ts';
import type { Exchange } from '../exchange.ts';
import { tokenRequestInfo, userpassInfo } from '../request/request-info.ts';
import type { Stage, StageParts } from './stage.ts';
import { issueSubrequest, recordFailure } from './subrequest.ts';

/**
 * `/auth/v1/passes`: tokens of many clusters in one request. Each item is a TokenRequest of the same caller, which is
 * authorized and issued like any other: a list gives nothing that single requests would not give. One audit event has
 * all items, and no token leaves before it is durable.
 */
export const issueTokenList: Stage = async (x, parts) => {
  if (x.body === undefined) throw badRequest('the body must be a TokenRequestList');
  const { dryRun, fieldValidation } = parseTokenRequestOptions(x.query);
  const { items: requested = [] } = readBody<TokenRequestList>(x, tokenRequestListType, fieldValidation);
  if (requested.length === 0)
    throw invalid(tokenRequestListType, '', [required('items', 'name at least one service account')]);
  const items = await issueAll(x, parts, requested, dryRun);
  if (!x.deadline.isOpen) return;
  if (items.some(({ error }) => error === undefined)) await parts.beforeRelease(x, 200);
  const value = { kind: tokenRequestListType.kind, apiVersion: apiVersionOf(tokenRequestListType) };
  x.answer = { type: 'value', code: 200, value: { ...value, items } };
};

/** Tokens that wait for signatures at once. With all of a list, V8 spent a third of its time on garbage collection. */
const AT_ONCE = 50;
/** A cluster that issues its own tokens takes longer than a signature: the others do not wait for it. */
const SIGNED_WITHIN_MS = 10;

async function issueAll(
  x: Exchange,
  parts: StageParts,
  requested: readonly RequestedPass[],
  dryRun: boolean,
): Promise<IssuedPass[]> {
  const issuing: Promise<IssuedPass>[] = [];
  await x.work.turn();
  x.items = [];
  // The audit event has all items, also when the client leaves.
  x.isWriting = true;
  try {
    for (const [index, item] of requested.entries()) {
      // Other requests are served between them.
      if (x.work.isUsedUp) await x.work.turn();
      if (index > 0 && index % AT_ONCE === 0)
        await Promise.race([Promise.all(issuing.slice(-AT_ONCE)), pause(SIGNED_WITHIN_MS)]);
      if (!x.deadline.isOpen) break;
      issuing.push(issueOne(x, parts, { requested: item, index, dryRun }));
    }
    return await Promise.all(issuing);
  } finally {
    // A turn is refused when the client has left. What was begun goes on, and may have been recorded.
    await Promise.all(issuing);
    x.isWriting = false;
    x.onWritten?.();
  }
}

/** Never rejects: an item that fails does not fail the others. */
async function issueOne(
  x: Exchange,
  parts: StageParts,
  { requested, index, dryRun }: { readonly requested: RequestedPass; readonly index: number; readonly dryRun: boolean },
): Promise<IssuedPass> {
  const { cluster = '', namespace = '', serviceAccount = '', userpass = false } = requested;
  const named = userpass
    ? { cluster: shown(cluster), userpass }
    : {
        cluster: shown(cluster),
        namespace: shown(namespace),
        serviceAccount: shown(serviceAccount),
      };
  const info = userpass ? userpassInfo(cluster) : tokenRequestInfo(cluster, namespace, serviceAccount);
  const item = x.subrequest(info, undefined);
  try {
    checkNames(requested, index);
    const { spec, status } = await issueSubrequest(item, parts, { sent: tokenRequestOf(requested), dryRun });
    parts.observeSubrequest(item, CREATED);
    return { ...named, audiences: [...spec.audiences], ...status };
  } catch (error) {
    return { ...named, error: recordFailure(item, parts, error) };
  }
}

/** The request line parser checks the names in a path, not those in a body. */
function checkNames(requested: RequestedPass, index: number): void {
  const at = `items[${index}]`;
  const { cluster = '', userpass = false } = requested;
  const errors: FieldError[] = [
    ...(isClusterName(cluster) ? [] : [invalidValue(`${at}.cluster`, shown(cluster), 'must be the name of a cluster')]),
    ...(userpass ? personErrors(requested, at) : accountErrors(requested, at)),
  ];
  if (errors.length > 0) throw invalid(tokenRequestListType, '', errors);
}

/** The longest name of anything in Kubernetes (RFC 1123). */
const MAX_NAME = 253;
const MAX_BRIEF = 64;

/** A name as it was sent, unless it can be none: a response repeats each several times, for 500 items. */
const shown = (name: string): string => (name.length <= MAX_NAME ? name : clip(name, MAX_BRIEF));

const accountErrors = ({ namespace = '', serviceAccount = '' }: RequestedPass, at: string): FieldError[] => [
  ...nameErrors(`${at}.namespace`, namespace, isDns1123Label),
  ...nameErrors(`${at}.serviceAccount`, serviceAccount, isDns1123Subdomain),
];

const nameErrors = (field: string, name: string, problemsOf: (name: string) => readonly string[]): FieldError[] =>
  name === '' ? [required(field)] : problemsOf(name).map((why) => invalidValue(field, shown(name), why));

const personErrors = ({ namespace = '', serviceAccount = '' }: RequestedPass, at: string): FieldError[] =>
  Object.entries({ namespace, serviceAccount })
    .filter(([, value]) => value !== '')
    .map(([field]) => forbiddenField(`${at}.${field}`, 'may not be set together with userpass'));

function tokenRequestOf({ audiences = [], expirationSeconds, tracked, group }: RequestedPass): TokenInput['sent'] {
  const spec = { audiences: [...audiences], ...(expirationSeconds === undefined ? {} : { expirationSeconds }) };
  const annotations = {
    ...(tracked === undefined ? {} : { [TOKEN_ANNOTATIONS.tracked]: String(tracked) }),
    ...(group === undefined ? {} : { [TOKEN_ANNOTATIONS.group]: group }),
  };
  return { metadata: { annotations }, spec };
}
