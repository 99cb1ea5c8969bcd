import { clip } from '../lib/text.ts';
import { goQuote } from './codec/go-text/go-quote.ts';
import { ApiError, detailsOf, type GroupKind, qualified, type StatusCause } from './status.ts';

/** Kinds of errors: the text in messages, and the reason for programs (F-07). */
const TYPES = {
  required: { text: 'Required value', reason: 'FieldValueRequired', printsValue: false },
  invalid: { text: 'Invalid value', reason: 'FieldValueInvalid', printsValue: true },
  unsupported: { text: 'Unsupported value', reason: 'FieldValueNotSupported', printsValue: true },
  duplicate: { text: 'Duplicate value', reason: 'FieldValueDuplicate', printsValue: true },
  notFound: { text: 'Not found', reason: 'FieldValueNotFound', printsValue: true },
  forbidden: { text: 'Forbidden', reason: 'FieldValueForbidden', printsValue: false },
  tooLong: { text: 'Too long', reason: 'FieldValueTooLong', printsValue: false },
  tooMany: { text: 'Too many', reason: 'FieldValueTooMany', printsValue: true },
} as const;

export interface FieldError {
  readonly type: keyof typeof TYPES;
  /** Dotted path, e.g. `spec.audiences[0]`. */
  readonly field: string;
  readonly value?: unknown;
  readonly detail: string;
}

/** An object can have a hundred thousand errors; a person reads the first ones. */
export const MAX_FIELD_ERRORS = 100;
const MAX_PRINTED = 1024;

function printValue(value: unknown): string {
  if (typeof value === 'string') return goQuote(value);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  const json = JSON.stringify(value) ?? 'null';
  return clip(json, MAX_PRINTED);
}

/** Checks items until there are `MAX_FIELD_ERRORS`. */
export function checkEach<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of items) {
    errors.push(...check(item, index++));
    if (errors.length >= MAX_FIELD_ERRORS) break;
  }
  return errors;
}

function body(error: FieldError): string {
  const { text, printsValue } = TYPES[error.type];
  const head = printsValue ? `${text}: ${printValue(error.value)}` : text;
  return error.detail === '' ? head : `${head}: ${error.detail}`;
}

/** With its field: `spec.audiences: Required value`. */
export const errorText = (error: FieldError): string => `${error.field}: ${body(error)}`;

export const required = (field: string, detail = ''): FieldError => ({ type: 'required', field, detail });
export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'invalid',
  field,
  value,
  detail,
});
/** An error for each problem of the value: what a rule for names returns. */
export const invalidValues = (field: string, value: string, problems: readonly string[]): FieldError[] =>
  problems.map((problem) => invalidValue(field, value, problem));
export const forbiddenField = (field: string, detail: string): FieldError => ({ type: 'forbidden', field, detail });
export const unsupportedValue = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: 'unsupported',
  field,
  value,
  detail: `supported values: ${supported.map(goQuote).join(', ')}`,
});
export const tooLong = (field: string, maxBytes: number): FieldError => ({
  type: 'tooLong',
  field,
  detail: `may not be more than ${maxBytes} bytes`,
});
export const tooMany = (field: string, actual: number, max: number): FieldError => ({
  type: 'tooMany',
  field,
  value: actual,
  detail: `must have at most ${max} items`,
});

export function requireValid(kind: GroupKind, name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(kind, name, errors);
}

/** F-06: several errors are listed in brackets, without duplicates; `causes` has each one, up to a limit. */
export function invalid(kind: GroupKind, name: string, found: readonly FieldError[]): ApiError {
  const errors = found.slice(0, MAX_FIELD_ERRORS);
  const texts = [...new Set(errors.map(errorText))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const causes: StatusCause[] = errors.map((error) => ({
    reason: TYPES[error.type].reason,
    message: body(error),
    field: error.field,
  }));
  return new ApiError(422, 'Invalid', `${qualified(kind.group, kind.kind)} ${goQuote(name)} is invalid: ${list}`, {
    details: { ...detailsOf(name, kind.group, kind.kind), causes },
  });
}
