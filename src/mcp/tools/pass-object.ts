import { isDeepStrictEqual } from 'node:util';
import { type Static, Type } from 'typebox';
import type { ApiObject } from '../../api/kind.ts';
import {
  HANDLE_PATTERN,
  MAX_PASS_SECONDS,
  MIN_PASS_SECONDS,
  passAccount,
  passSpec,
  passStatus,
} from '../../api/kinds/pass-spec.ts';
import { defined, memberOf } from '../../lib/json.ts';
import { objectOf, type Send } from '../api-call.ts';
import { textField } from '../result-fields.ts';
import { fields } from '../tool.ts';

/** The Pass of the API, as tools show it. */

export const PASSES_PATH = '/apis/clusterpass.dev/v1alpha1/passes';
export const handle = Type.String({ pattern: HANDLE_PATTERN, description: 'The handle of a pass.' });
export const passDuration = Type.Integer({
  minimum: MIN_PASS_SECONDS,
  maximum: MAX_PASS_SECONDS,
  description: 'As short as the work allows.',
});

export const passProperties = {
  handle,
  state: Type.Enum(['ready', 'pending', 'denied', 'ended']),
  expires: fields.time,
  cluster: Type.String(),
  namespace: Type.String(),
  account: Type.String(),
} as const;

/** Of a pass that is ready, or will be. */
export const use = Type.String({ description: 'How the pass is used, as soon as it is ready.' });

const PassSchema = Type.Object(passProperties);

export interface PassArguments {
  readonly cluster: string;
  readonly namespace: string;
  readonly account: string;
  readonly audience?: string | undefined;
  readonly durationSeconds?: number | undefined;
  readonly purpose: string;
}

/** The member `client` marks the pass as one of an agent, also where no verified client is known (stdio). */
export const passBody = (
  { cluster, namespace, account, audience, durationSeconds, purpose }: PassArguments,
  clientName: string,
  codeChallenge?: string,
): object => ({
  apiVersion: 'clusterpass.dev/v1alpha1',
  kind: 'Pass',
  metadata: {},
  spec: defined({
    cluster,
    serviceAccount: { namespace, name: account },
    audiences: audience === undefined ? undefined : [audience],
    durationSeconds,
    purpose,
    codeChallenge,
    client: { name: clientName },
  }),
});

const STATES = { Ready: 'ready', Pending: 'pending', Denied: 'denied', Ended: 'ended' } as const;

export function passView(pass: ApiObject): Static<typeof PassSchema> {
  const { cluster, namespace, name } = passAccount(passSpec(pass));
  const { phase, expirationTimestamp } = passStatus(pass);
  return {
    handle: textField(pass.metadata.name) ?? '',
    state: STATES[phase as keyof typeof STATES] ?? 'ended',
    expires: textField(expirationTimestamp) ?? '',
    cluster: textField(cluster) ?? '',
    namespace: textField(namespace) ?? '',
    account: textField(name) ?? '',
  };
}

/** Whether the pass is the one that was asked for. The server chooses the duration if none is given. */
export function isPassFor(pass: ApiObject, args: PassArguments): boolean {
  const { cluster, namespace, account, audience, durationSeconds, purpose } = args;
  const spec = passSpec(pass);
  return (
    isDeepStrictEqual(passAccount(spec), { cluster, namespace, name: account }) &&
    spec.purpose === purpose &&
    (durationSeconds === undefined || spec.durationSeconds === durationSeconds) &&
    isDeepStrictEqual(spec.audiences ?? [], audience === undefined ? [] : [audience])
  );
}

/** The passes that the caller has requested. A permission of the person for the passes of others is not for agents. */
export async function ownOf(passes: readonly ApiObject[], send: Send): Promise<ApiObject[]> {
  const name = passes.length === 0 ? undefined : await nameOfCaller(send);
  return name === undefined ? [] : passes.filter((pass) => requestersOf(pass).includes(name));
}

async function nameOfCaller(send: Send): Promise<unknown> {
  const apiVersion = 'authentication.k8s.io/v1';
  const body = { apiVersion, kind: 'SelfSubjectReview' };
  const { status } = objectOf(await send({ method: 'POST', path: `/apis/${apiVersion}/selfsubjectreviews`, body }));
  return memberOf(status, 'userInfo', 'username');
}

/** In its own cluster an account has another name; the one at the fleet is then in `actors`. */
function requestersOf(pass: ApiObject): unknown[] {
  const { username, actors = [] } = passSpec(pass).requestedBy ?? {};
  return [username, ...actors];
}
