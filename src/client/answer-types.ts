/** A type of JSON. A list has the type of its elements; an object has those of its fields, or of every field (`*`). */
type AnswerType = 'string' | readonly [AnswerType] | AnswerFields;

interface AnswerFields {
  readonly [field: string]: AnswerType;
}

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

const OBJECT: AnswerFields = {
  apiVersion: 'string',
  kind: 'string',
  metadata: META,
  spec: {},
  status: { conditions: [CONDITION] },
};

/** What all objects and lists of a Kubernetes API have in common. */
const ANSWER: AnswerFields = { ...OBJECT, items: [OBJECT] };

/** What an answer must have: an object a name, a list its metadata and items with a name. */
export type Expected = 'object' | 'list' | 'metadata' | 'items';

const MAX_KEY_LENGTH = 64;

/**
 * Returns what is wrong with an answer, e.g. `items of a wrong type`. Changes the answer: null means absence, as in Go,
 * so known fields that are null become an empty list, or are removed.
 */
export function wrongTypeIn(answer: unknown, expected?: Expected): string | undefined {
  const wrong = wrongPath(answer, typeFor(answer));
  if (wrong !== undefined) return `${wrong.slice(1) || 'an answer'} of a wrong type`;
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
function typeFor(answer: unknown): AnswerFields {
  const isStatus = (answer as { kind?: unknown } | null)?.kind === 'Status';
  return isStatus ? { ...ANSWER, status: 'string' } : ANSWER;
}

/** The path of a value of another type, e.g. `.items[0].metadata`; empty for the answer itself. */
function wrongPath(value: unknown, type: AnswerType): string | undefined {
  if (typeof type === 'string') return typeof value === type ? undefined : '';
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(type)) return '';
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const of = typeOf(type, key);
    if (of === undefined) continue;
    if (object[key] === null && !Array.isArray(value)) {
      if (Array.isArray(of)) object[key] = [];
      else delete object[key];
      continue;
    }
    const path = wrongPath(object[key], of);
    if (path !== undefined) {
      return Array.isArray(value) ? `[${key}]${path}` : `.${key.slice(0, MAX_KEY_LENGTH)}${path}`;
    }
  }
  return undefined;
}

function typeOf(type: readonly [AnswerType] | AnswerFields, key: string): AnswerType | undefined {
  if (Array.isArray(type)) return type[0];
  const fields = type as AnswerFields;
  return Object.hasOwn(fields, key) ? fields[key] : fields['*'];
}
