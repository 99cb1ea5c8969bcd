import { type AccessAnswer, type Client, reviewAccess, reviewSelf } from '../../../src/client/index.ts';

/** What the server gives as the reason of a yes, taken apart. */
export interface Grant {
  readonly bindingKind: string;
  readonly binding: string;
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleKind: string;
  readonly role: string;
  /** `Group "team-shop"`; `""` when it is not told. */
  readonly subject: string;
}

export type Verdict =
  | { readonly allowed: true; readonly grant: Grant | undefined; readonly text: string }
  | { readonly allowed: false; readonly text: string };

const NAME = '"((?:[^"\\\\]|\\\\.){1,600})"';
const ALLOWED = new RegExp(`^RBAC: allowed by (\\w+) ${NAME} of (\\w+) ${NAME}(?: to (\\w+) ${NAME})?$`);

export function grantIn(reason: string): Grant | undefined {
  const match = ALLOWED.exec(reason);
  if (match === null) return undefined;
  const [, bindingKind = '', place = '', roleKind = '', role = '', subjectKind, subject] = match;
  const [binding = '', namespace = ''] = bindingKind === 'RoleBinding' ? place.split('/', 2) : [place];
  return {
    bindingKind,
    binding,
    namespace,
    roleKind,
    role,
    subject: subjectKind === undefined ? '' : `${subjectKind} ${subject}`,
  };
}

const MASTERS = 'system:masters';

export interface Question {
  /** Undefined for the registry's own entries. */
  readonly cluster: string | undefined;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

export async function ask(client: Client, { cluster, ...attributes }: Question): Promise<Verdict> {
  const answer = await reviewAccess(client, cluster, { resourceAttributes: attributes });
  return verdictOf(answer, async () => (await reviewSelf(client, cluster)).status?.userInfo?.groups ?? []);
}

async function verdictOf(
  { allowed, reason = '', evaluationError = '' }: AccessAnswer,
  groups: () => Promise<readonly string[]>,
): Promise<Verdict> {
  if (allowed !== true) return { allowed: false, text: [reason, evaluationError].filter(Boolean).join('; ') };
  // No rule is asked about the members of this group, so none is named.
  const text = reason !== '' ? reason : (await groups()).includes(MASTERS) ? `You are in the group ${MASTERS}.` : '';
  return { allowed: true, grant: grantIn(reason), text };
}

/** Whether the person sees a cluster, as the registry decides it. */
export const seeing = (cluster: string): Question => ({
  cluster: undefined,
  verb: 'get',
  group: 'clusterregistry.k8s.io',
  resource: 'clusters',
  name: cluster,
});

export const issuing = (cluster: string, namespace: string, name: string): Question => ({
  cluster,
  verb: 'create',
  group: '',
  resource: 'serviceaccounts',
  subresource: 'token',
  namespace,
  name,
});

export const revoking = (jti: string): Question => ({
  cluster: undefined,
  verb: 'delete',
  group: 'clusterpass.dev',
  resource: 'issuedtokens',
  name: jti,
});
