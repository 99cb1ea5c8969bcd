import { printableErrors } from '../../api/codec/go-text/go-unicode.ts';
import { type FieldError, invalid, invalidValue, tooLong, unsupportedValue } from '../../api/field-error.ts';
import type { Query } from '../../api/request.ts';
import { META_GROUP } from './query-parameters.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** What a writing request may ask for besides the write. Other parameters are none of its business. */
export interface WriteOptions {
  /** Run every check, keep nothing. */
  readonly dryRun: boolean;
  /** Checked; `""` when not given. No record of managers is kept. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

/** Of nearly every request of a program. */
const NOTHING_ASKED: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Warn' };

/** every fault in one answer, in this order. `before` are those that the verb itself has found. */
export function parseWriteOptions(kind: string, query: Query, before: readonly FieldError[] = []): WriteOptions {
  if (query.size === 0 && before.length === 0) return NOTHING_ASKED;
  const fieldManager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const fieldValidation = query.get('fieldValidation') ?? '';
  const errors = [
    ...before,
    ...fieldManagerErrors(fieldManager),
    ...dryRunErrors(dryRun),
    ...fieldValidationErrors(fieldValidation),
  ];
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind }, '', errors);
  return {
    dryRun: isDryRun(dryRun),
    fieldManager,
    //
    fieldValidation: FIELD_VALIDATION.get(fieldValidation) ?? 'Warn',
  };
}

const MAX_FIELD_MANAGER = 127;

/**
 * The name of the actor has fewer than 128 characters, where kube-apiserver allows 128 bytes. Characters
 * are counted (code points), as the interface says, so that no name it allows is refused; the text of the
 * error is kube-apiserver's, which for the names in use says the same.
 */
function fieldManagerErrors(name: string): FieldError[] {
  // Each further error would repeat the whole name: of one that is too long, only that is said.
  if (name.length > 2 * MAX_FIELD_MANAGER || [...name].length > MAX_FIELD_MANAGER) {
    return [tooLong('fieldManager', MAX_FIELD_MANAGER)];
  }
  return printableErrors(name).map((detail) => invalidValue('fieldManager', name, detail));
}

/** every value must be `All`; an empty one is a value too. */
export function dryRunErrors(values: readonly string[]): FieldError[] {
  return values.every((value) => value === 'All') ? [] : [unsupportedValue('dryRun', values, ['All'])];
}

export const isDryRun = (values: readonly string[]): boolean => values.length > 0;

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
