import type { FieldValidation } from '../../api/codec/decode.ts';
import { printableErrors } from '../../api/codec/go-text/go-quote.ts';
import type { Query } from '../../api/request.ts';
import {
  type FieldError,
  forbiddenField,
  invalid,
  invalidValue,
  required,
  tooLong,
  unsupportedValue,
} from '../../api/status.ts';
import { booleanParameter, META_GROUP } from './query-parameters.ts';

/** CreateOptions, UpdateOptions and PatchOptions. Other query parameters are ignored. */
export interface WriteOptions {
  /** Run every check, store nothing. */
  readonly dryRun: boolean;
  /** Validated; `""` when absent. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

const DEFAULTS: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Warn' };

/** @throws ApiError 422 with every error. */
export const parseCreateOptions = (query: Query): WriteOptions => parseWriteOptions('CreateOptions', query);

/**
 * CreateOptions of a token request. The interface allows names of fewer than 128 characters, and this one is not stored
 * (decision 4).
 *
 * @throws ApiError 422 with every error.
 */
export const parseTokenRequestOptions = (query: Query): WriteOptions =>
  parseWriteOptions('CreateOptions', query, [], charactersIn);

/** @throws ApiError 422 with every error. */
export const parseUpdateOptions = (query: Query): WriteOptions => parseWriteOptions('UpdateOptions', query);

export interface ApplyOptions extends WriteOptions {
  /** Take over the fields that other managers own. */
  readonly force: boolean;
}

/**
 * AP-03 to AP-07.
 *
 * @throws ApiError 422 with every error, 400 for a `force` that is neither true nor false.
 */
export function parseApplyOptions(query: Query): ApplyOptions {
  const force = booleanParameter(query, 'force', { mayBeEmpty: false }) ?? false;
  const isNamed = (query.get('fieldManager') ?? '') !== '';
  const errors = isNamed ? [] : [required('fieldManager', 'is required for apply patch')];
  return { ...parseWriteOptions('PatchOptions', query, errors), force };
}

/**
 * `force` belongs to server-side apply: any other patch refuses it.
 *
 * @throws ApiError 422 with every error.
 */
export function parsePatchOptions(query: Query): WriteOptions {
  const hasForce = booleanParameter(query, 'force') !== undefined;
  const errors = hasForce ? [forbiddenField('force', 'may not be specified for non-apply patch')] : [];
  return parseWriteOptions('PatchOptions', query, errors);
}

/** all errors in one response, in this order. `verbErrors` are those of parameters that only one verb has. */
function parseWriteOptions(
  kind: string,
  query: Query,
  verbErrors: readonly FieldError[] = [],
  lengthOf: (fieldManager: string) => number = Buffer.byteLength,
): WriteOptions {
  if (query.size === 0 && verbErrors.length === 0) return DEFAULTS;
  const fieldManager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const fieldValidation = query.get('fieldValidation') ?? '';
  const errors = [
    ...verbErrors,
    ...fieldManagerErrors(fieldManager, lengthOf),
    ...dryRunErrors(dryRun),
    ...fieldValidationErrors(fieldValidation),
  ];
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind }, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    //
    fieldValidation: FIELD_VALIDATION.get(fieldValidation) ?? 'Warn',
  };
}

const MAX_FIELD_MANAGER = 127;

const charactersIn = (text: string): number => [...text].length;

/** AP-05. The error text is kube-apiserver's. */
function fieldManagerErrors(name: string, lengthOf: (text: string) => number): FieldError[] {
  // Every further error would repeat the whole name, so a name that is too long gets this error only.
  if (name.length > 2 * MAX_FIELD_MANAGER || lengthOf(name) > MAX_FIELD_MANAGER) {
    return [tooLong('fieldManager', MAX_FIELD_MANAGER)];
  }
  return printableErrors(name).map((detail) => invalidValue('fieldManager', name, detail));
}

/** every value must be `All`; an empty value counts as a value. */
export function dryRunErrors(values: readonly string[]): FieldError[] {
  return values.every((value) => value === 'All') ? [] : [unsupportedValue('dryRun', values, ['All'])];
}

const FIELD_VALIDATION: ReadonlyMap<string, FieldValidation> = new Map([
  ['', 'Warn'],
  ['Ignore', 'Ignore'],
  ['Strict', 'Strict'],
  ['Warn', 'Warn'],
]);

/** */
function fieldValidationErrors(value: string): FieldError[] {
  if (FIELD_VALIDATION.has(value)) return [];
  return [unsupportedValue('fieldValidation', value, [...FIELD_VALIDATION.keys()])];
}
