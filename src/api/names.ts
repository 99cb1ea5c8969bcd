import type { ObjectMeta } from './kind.ts';
import { checkEach, type FieldError, invalidValues, tooLong } from './status.ts';

/**
 * Kubernetes' rules for names, labels and annotations, with its messages. A validator returns a list of messages, empty
 * when the value is valid. Lengths count UTF-8 bytes (M-04).
 *
 * The patterns in messages are Kubernetes'. The patterns executed here accept the same language, but have one
 * repetition each and an anchor on both sides, so that hostile input costs linear time.
 */

const MAX_LABEL_BYTES = 63;
export const MAX_SUBDOMAIN_BYTES = 253;
export const MAX_ANNOTATIONS_BYTES = 256 * 1024;

const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS_SUBDOMAIN = `${DNS_LABEL}(\\.${DNS_LABEL})*`;
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const bytes = (text: string): number => Buffer.byteLength(text);
const maxLength = (limit: number): string => `must be no more than ${limit} bytes`;
const NON_EMPTY = 'must be non-empty';

/** Kubernetes' messages have these doubled spaces between examples, and clients compare the text. */
function mustMatch(rule: string, pattern: string, examples: readonly string[]): string {
  const list = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${list}regex used for validation is '${pattern}')`;
}

const LABEL_RULE = mustMatch(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  DNS_LABEL,
  ['my-name', '123-abc'],
);
const SUBDOMAIN_RULE = mustMatch(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  DNS_SUBDOMAIN,
  ['example.com'],
);
const QUALIFIED_RULE = mustMatch(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED,
  ['MyName', 'my.name', '123-abc'],
);
const LABEL_VALUE_RULE = mustMatch(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${QUALIFIED})?`,
  ['MyValue', 'my_value', '12345'],
);

const LOWER_ALPHANUMERIC_OR_DASH = /^[-a-z0-9]+$/;
const QUALIFIED_CHARACTERS = /^[-A-Za-z0-9_.]+$/;
const STARTS_ALPHANUMERIC = /^[A-Za-z0-9]/;
const ENDS_ALPHANUMERIC = /[A-Za-z0-9]$/;

const hasAlphanumericEnds = (text: string): boolean =>
  STARTS_ALPHANUMERIC.test(text) && ENDS_ALPHANUMERIC.test(text.slice(-1));
const isLabelText = (text: string): boolean => LOWER_ALPHANUMERIC_OR_DASH.test(text) && hasAlphanumericEnds(text);
const isSubdomainText = (text: string): boolean => text.split('.').every(isLabelText);
/** Longer texts are refused by their length alone. */
const MAX_SPLIT = 16_384;
const isQualifiedText = (text: string): boolean => QUALIFIED_CHARACTERS.test(text) && hasAlphanumericEnds(text);

/** M-02: namespace names. */
export function isDns1123Label(value: string): string[] {
  const errors = bytes(value) > MAX_LABEL_BYTES ? [maxLength(MAX_LABEL_BYTES)] : [];
  if (!isLabelText(value))
    errors.push(value.length <= MAX_SPLIT && isSubdomainText(value) ? 'must not contain dots' : LABEL_RULE);
  return errors;
}

/** M-03: the names of most objects. */
export function isDns1123Subdomain(value: string): string[] {
  const errors = bytes(value) > MAX_SUBDOMAIN_BYTES ? [maxLength(MAX_SUBDOMAIN_BYTES)] : [];
  // To split a text of millions of parts takes half a second.
  if (value.length <= MAX_SPLIT && !isSubdomainText(value)) errors.push(SUBDOMAIN_RULE);
  return errors;
}

/**
 * The same rule as a pattern without a length, for schemas. A separator is a run of dashes or one dot, and words have
 * neither, so matching is linear. There is no lookahead: the engines of some clients have none.
 */
export const DNS1123_SUBDOMAIN_PATTERN = '^[a-z0-9]+(?:(?:-+|\\.)[a-z0-9]+)*$';

/** Whether a cluster can have this name. */
export const isClusterName = (text: string): boolean => isDns1123Subdomain(text).length === 0;

/** M-06, M-07: a valid segment of a path. The only rule for RBAC names. */
export function isPathSegmentName(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`);
}

/** A label key: a name of at most 63 bytes, after an optional DNS prefix and a slash. */
export function isQualifiedName(value: string): string[] {
  const [first = '', second, ...more] = value.split('/');
  if (more.length > 0) {
    const shape = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a valid label key ${QUALIFIED_RULE} ${shape}`];
  }
  const errors: string[] = [];
  if (second !== undefined) {
    const messages = first === '' ? [NON_EMPTY] : isDns1123Subdomain(first);
    errors.push(...messages.map((message) => `prefix part ${message}`));
  }
  const name = second ?? first;
  if (name === '') errors.push(`name part ${NON_EMPTY}`);
  else if (bytes(name) > MAX_LABEL_BYTES) errors.push(`name part ${maxLength(MAX_LABEL_BYTES)}`);
  if (!isQualifiedText(name)) errors.push(`name part ${QUALIFIED_RULE}`);
  return errors;
}

export function isValidLabelValue(value: string): string[] {
  const errors = bytes(value) > MAX_LABEL_BYTES ? [maxLength(MAX_LABEL_BYTES)] : [];
  if (value !== '' && !isQualifiedText(value)) errors.push(LABEL_VALUE_RULE);
  return errors;
}

export function validateLabels(labels: Readonly<Record<string, string>>, fieldPath: string): FieldError[] {
  return checkEach(Object.keys(labels), (key) => {
    const value = labels[key] ?? '';
    return [
      ...invalidValues(fieldPath, key, isQualifiedName(key)),
      ...invalidValues(fieldPath, value, isValidLabelValue(value)),
    ];
  });
}

/** Annotation keys are label keys in which upper case is allowed in the prefix too; values are free text. */
export function validateAnnotations(annotations: Readonly<Record<string, string>>, fieldPath: string): FieldError[] {
  const keys = Object.keys(annotations);
  const errors = checkEach(keys, (key) => invalidValues(fieldPath, key, isQualifiedName(key.toLowerCase())));
  return [...errors, ...validateSize(annotations, fieldPath)];
}

/** Of labels and annotations of an object that is not stored: whatever they are, the response repeats them. */
export const validateRepeatedPairs = ({
  labels = {},
  annotations = {},
}: Pick<ObjectMeta, 'labels' | 'annotations'>): FieldError[] => [
  ...validateSize(labels, 'metadata.labels'),
  ...validateSize(annotations, 'metadata.annotations'),
];

const validateSize = (pairs: Readonly<Record<string, string>>, fieldPath: string): FieldError[] =>
  isTooLarge(pairs) ? [tooLong(fieldPath, MAX_ANNOTATIONS_BYTES)] : [];

/** Whether annotations are larger together than an object may have. */
export function isTooLarge(pairs: Readonly<Record<string, unknown>>): boolean {
  let size = 0;
  for (const key of Object.keys(pairs)) size += bytes(key) + bytes(String(pairs[key]));
  return size > MAX_ANNOTATIONS_BYTES;
}

const JTI = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id of a token, as it is in its claim `jti`. */
export const isTokenId = (text: string): boolean => JTI.test(text);
