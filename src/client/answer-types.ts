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
 * Returns which field of an answer has another type, e.g. `items as a number, not a list`. Changes the answer: null
 * means absence, as in Go, so known fields that are null become an empty list, or are removed.
 */
export function wrongTypeIn(answer: unknown, expected?: Expected): string | undefined {
  const wrong = wrongType(answer, typeFor(answer));
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
function typeFor(answer: unknown): AnswerFields {
  const isStatus = (answer as { kind?: unknown } | null)?.kind === 'Status';
  return isStatus ? { ...ANSWER, status: 'string' } : ANSWER;
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
  return typeof value === type ? undefined : mismatch(value, `a ${type}`);
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
    const type = Object.hasOwn(fields, key) ? fields[key] : fields['*'];
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

const mismatch = (value: unknown, wanted: string): WrongType => ({
  path: '',
  problem: `as ${nameOf(value)}, not ${wanted}`,
});

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
