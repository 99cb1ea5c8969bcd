/**
 * A type of JSON; `any` for a field whose type depends on the kind. A list has the type of its elements; an object has
 * those of its fields, or of every field (`*`).
 */
export type AnswerType = 'string' | 'number' | 'boolean' | 'any' | readonly [AnswerType] | AnswerFields;

export interface AnswerFields {
  readonly [field: string]: AnswerType;
}

const TEXTS: AnswerType = ['string'];
const TEXT_MAP: AnswerFields = { '*': 'string' };

const META: AnswerFields = {
  name: 'string',
  namespace: 'string',
  uid: 'string',
  resourceVersion: 'string',
  continue: 'string',
  creationTimestamp: 'string',
  deletionTimestamp: 'string',
  labels: TEXT_MAP,
  annotations: TEXT_MAP,
};

const CONDITION: AnswerFields = {
  type: 'string',
  status: 'string',
  reason: 'string',
  message: 'string',
  lastHeartbeatTime: 'string',
  lastTransitionTime: 'string',
};

const list = (object: AnswerFields): AnswerFields => ({ ...object, items: [object] });

/** Objects and lists of any Kubernetes API. */
export const KUBERNETES_ANSWER = list({
  apiVersion: 'string',
  kind: 'string',
  metadata: META,
  spec: {},
  status: { conditions: [CONDITION] },
});

const REFERENCE: AnswerFields = { kind: 'string', namespace: 'string', name: 'string' };
const GRANT: AnswerFields = { binding: REFERENCE, role: REFERENCE };
const GRANTED: AnswerFields = {
  ...REFERENCE,
  ...GRANT,
  resourceNames: TEXTS,
  gives: [{ action: 'string', namespaces: TEXTS, names: TEXTS }],
  expiresAt: 'string',
  agents: 'string',
  approval: 'string',
  maxPassSeconds: 'number',
};
const USER: AnswerFields = {
  username: 'string',
  uid: 'string',
  groups: TEXTS,
  actors: TEXTS,
  extra: { '*': TEXTS },
};
const RULE: AnswerFields = {
  verbs: TEXTS,
  apiGroups: TEXTS,
  resources: TEXTS,
  resourceNames: TEXTS,
  nonResourceURLs: TEXTS,
};
const ATTRIBUTES: AnswerFields = {
  verb: 'string',
  group: 'string',
  resource: 'string',
  subresource: 'string',
  namespace: 'string',
  name: 'string',
};
const ENDPOINTS: AnswerFields = {
  serverEndpoints: [{ clientCIDR: 'string', serverAddress: 'string' }],
  caBundle: 'string',
};

/** The status of a SubjectReachReview. */
export const REACH_STATUS: AnswerFields = {
  clusters: [{ name: 'string', subjects: [GRANTED] }],
  evaluationError: 'string',
};

/** What Clusterpass answers, of all kinds. */
export const CLUSTERPASS_ANSWER = list({
  apiVersion: 'string',
  kind: 'string',
  metadata: META,
  spec: {
    cluster: 'string',
    reason: 'string',
    purpose: 'string',
    namePattern: 'string',
    durationSeconds: 'number',
    expirationTimestamp: 'string',
    serviceAccount: 'any',
    resourceAttributes: ATTRIBUTES,
    boundObjectRef: REFERENCE,
    user: 'any',
    requestedBy: USER,
    createdBy: USER,
    client: { id: 'string', name: 'string' },
    audiences: TEXTS,
    confirmedEndpoints: ENDPOINTS,
    // For every product name.
    '*ApiEndpoints': ENDPOINTS,
  },
  status: {
    phase: 'string',
    approval: 'string',
    cluster: 'string',
    state: 'string',
    algorithm: 'string',
    created: 'string',
    signsFrom: 'string',
    expires: 'string',
    type: 'string',
    version: 'any',
    expirationTimestamp: 'string',
    continue: 'string',
    reason: 'string',
    evaluationError: 'string',
    conditions: [CONDITION],
    decidedBy: USER,
    withdrawnBy: USER,
    userInfo: USER,
    bindingRef: REFERENCE,
    tokens: [{ id: 'string', expirationTimestamp: 'string' }],
    subjects: [GRANTED],
    // A number in a FleetRoleBinding, and a list in a SubjectReachReview (`REACH_STATUS`).
    clusters: 'any',
    resourceRules: [RULE],
    nonResourceRules: [RULE],
  },
  rules: [RULE],
  subjects: [REFERENCE],
  roleRef: REFERENCE,
  // Of `/version`, and of the items of `/auth/v1/passes` and of the accounts of a cluster.
  gitVersion: 'string',
  cluster: 'string',
  namespace: 'string',
  name: 'string',
  token: 'string',
  expirationTimestamp: 'string',
  error: { reason: 'string', message: 'string' },
});

/** What an answer must have: an object a name, a list its metadata and items with a name. */
export type Expected = 'object' | 'list' | 'metadata' | 'items';

const MAX_KEY_LENGTH = 64;

/**
 * Returns which field of an answer has another type, e.g. `items as a number, not a list`. Changes the answer: null
 * means absence, as in Go, so known fields that are null become an empty list, or are removed.
 */
export function wrongTypeIn(answer: unknown, type: AnswerFields, expected?: Expected): string | undefined {
  const wrong = wrongType(answer, typeFor(answer, type));
  if (wrong !== undefined) return `${wrong.path.slice(1) || 'an answer'} ${wrong.problem}`;
  return expected === undefined ? undefined : missingPart(answer as Answer, expected);
}

interface Answer {
  readonly metadata?: { readonly name?: string };
  readonly items?: readonly Answer[];
}

function missingPart({ metadata, items }: Answer, expected: Expected): string | undefined {
  if (expected !== 'items' && metadata === undefined) return 'an answer without metadata';
  if (expected === 'object') return metadata?.name === undefined ? 'an answer without metadata.name' : undefined;
  if (expected === 'metadata') return undefined;
  if (items === undefined) return 'an answer without items';
  const bare = expected === 'list' ? items.findIndex((item) => item.metadata?.name === undefined) : -1;
  return bare < 0 ? undefined : `items[${bare}] without metadata.name`;
}

/** A Status is the one kind whose `status` is a text. */
function typeFor(answer: unknown, type: AnswerFields): AnswerFields {
  const isStatus = (answer as { kind?: unknown } | null)?.kind === 'Status';
  return isStatus ? { ...type, status: 'string' } : type;
}

/** The path is made where a type is wrong: most answers have none. */
interface WrongType {
  /** `.items[0].metadata`; empty for the answer itself. */
  readonly path: string;
  readonly problem: string;
}

function wrongType(value: unknown, type: AnswerType): WrongType | undefined {
  if (Array.isArray(type)) return wrongElement(value, type[0] as AnswerType);
  if (typeof type === 'object') return wrongField(value, type as AnswerFields);
  return type === 'any' || typeof value === type ? undefined : mismatch(value, `a ${type}`);
}

function wrongElement(value: unknown, type: AnswerType): WrongType | undefined {
  if (!Array.isArray(value)) return mismatch(value, 'a list');
  for (let index = 0; index < value.length; index++) {
    const wrong = wrongType(value[index], type);
    if (wrong !== undefined) return { ...wrong, path: `[${index}]${wrong.path}` };
  }
  return undefined;
}

function wrongField(value: unknown, fields: AnswerFields): WrongType | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return mismatch(value, 'an object');
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const type = typeOf(fields, key);
    if (type === undefined) continue;
    if (object[key] === null) {
      if (Array.isArray(type)) object[key] = [];
      else delete object[key];
      continue;
    }
    const wrong = wrongType(object[key], type);
    if (wrong !== undefined) return { ...wrong, path: `.${key.slice(0, MAX_KEY_LENGTH)}${wrong.path}` };
  }
  return undefined;
}

function typeOf(fields: AnswerFields, key: string): AnswerType | undefined {
  if (Object.hasOwn(fields, key)) return fields[key];
  return fields['*'] ?? (key.endsWith('ApiEndpoints') ? fields['*ApiEndpoints'] : undefined);
}

const mismatch = (value: unknown, wanted: string): WrongType => ({
  path: '',
  problem: `as ${nameOf(value)}, not ${wanted}`,
});

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
