import { defined } from '../lib/json.ts';
import { clip } from '../lib/text.ts';
import { goQuote } from './codec/go-text/go-quote.ts';

/** `v1` `Status`, the body of every error response, and its constructors. */

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** Key order is part of the contract (F-01): clients and golden files compare bytes. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** `group` is `""` for the core group. */
interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** Longer than any valid name; names in error details are truncated to it. */
const MAX_NAME = 1024;
/** Longer messages are truncated. */
const MAX_MESSAGE = 64 * 1024;

/** An error with its response. Thrown anywhere, rendered once, in http/. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: Status;
  /** The methods of a path, for the header `Allow` of a 405. */
  readonly allow: string | undefined;

  constructor(
    code: number,
    reason: string | undefined,
    text: string,
    extra: { details?: StatusDetails; continue?: string; cause?: unknown; allow?: string | undefined } = {},
  ) {
    const message = clip(text, MAX_MESSAGE);
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.allow = extra.allow;
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: extra.continue === undefined ? {} : { continue: extra.continue },
      status: 'Failure',
      message,
      ...(reason === undefined ? {} : { reason }),
      ...(extra.details === undefined ? {} : { details: extra.details }),
      code,
    };
  }
}

/** `clusters.clusterregistry.k8s.io`, or `pods` in the core group. Serves resources and kinds alike. */
export function qualified(group: string, name: string): string {
  return group === '' ? name : `${name}.${group}`;
}

/** The name may come from a URL, without validation: unless it is quoted, it could end the quotation. */
const named = ({ group, resource }: GroupResource, name: string): string =>
  `${qualified(group, resource)} ${goQuote(name)}`;

/** `kind`: the plural, or the Kind (F-04). Empty fields are left out. */
export const detailsOf = (name: string, group: string, kind: string): StatusDetails =>
  defined({ name: clip(name, MAX_NAME) || undefined, group: group || undefined, kind: kind || undefined });

const about = ({ group, resource }: GroupResource, name: string) => ({ details: detailsOf(name, group, resource) });

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const unauthorized = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized');

export function forbidden(target: GroupResource, name: string, why: string, causes?: StatusCause[]): ApiError {
  const subject = name === '' ? qualified(target.group, target.resource) : named(target, name);
  return new ApiError(403, 'Forbidden', `${subject} is forbidden: ${why}`, {
    details: { ...about(target, name).details, ...defined({ causes }) },
  });
}

export const notFound = (target: GroupResource, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${named(target, name)} not found`, about(target, name));

/** For deletions: another request, or a sweep, may have deleted the object first. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ApiError && error.status.code === 404)) throw error;
}

/** a path that is not served. */
export const pathNotFound = (): ApiError =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });

export const alreadyExists = (target: GroupResource, name: string, prefix = ''): ApiError =>
  new ApiError(409, 'AlreadyExists', `${prefix}${named(target, name)} already exists`, about(target, name));

export function conflict(target: GroupResource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${named(target, name)}: ${why}`;
  return new ApiError(409, 'Conflict', message, about(target, name));
}

/** Z-06. Not a 503: the request fails until an operator has repaired or deleted the object. */
export const storageReadError = (target: GroupResource, name: string, why: string): ApiError =>
  new ApiError(500, 'StorageReadError', `${named(target, name)} ${why}`, about(target, name));

export const gone = (message: string, continueToken?: string): ApiError =>
  new ApiError(410, 'Expired', message, continueToken === undefined ? {} : { continue: continueToken });

export const tooLarge = (limit: number): ApiError =>
  new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`);

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export const notAcceptable = (accepted: readonly string[]): ApiError =>
  new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);

export const tooManyRequests = (message: string, retryAfterSeconds?: number, causes?: StatusCause[]): ApiError =>
  new ApiError(429, 'TooManyRequests', message, { details: defined({ causes, retryAfterSeconds }) });

export const unavailable = (message: string, retryAfterSeconds = 1): ApiError =>
  new ApiError(503, 'ServiceUnavailable', message, { details: { retryAfterSeconds } });

export const timeout = (message: string, details: StatusDetails = {}): ApiError =>
  new ApiError(504, 'Timeout', `Timeout: ${message}`, { details });

/** A server that a request was forwarded to gave no usable response. */
export const badGateway = (message: string, cause?: unknown): ApiError =>
  new ApiError(502, 'BadGateway', message, { details: {}, cause });

/** The cause is only logged; the caller has the audit id. */
export const internal = (cause: unknown): ApiError =>
  new ApiError(500, 'InternalError', 'Internal error occurred', { details: {}, cause });

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
