import { compareBytes } from '../../../api/codec/go-text/go-json-text.ts';
import { goQuote } from '../../../api/codec/go-text/go-quote.ts';
import { ApiError, type StatusCause } from '../../../api/status.ts';
import { pathsOf, sizeOf } from './field-set.ts';
import { pathText } from './fields-v1.ts';
import { type Manager, managerKey } from './managers.ts';
import type { Conflict } from './ownership.ts';

/** Fields that are named. More would help no reader, and each costs time and bytes. */
const MAX_NAMED = 100;

/** AP-31 to AP-35: the 409 of an apply. */
export function applyConflict(conflicts: readonly Conflict[]): ApiError {
  const sorted = conflicts
    .map((conflict) => ({ ...conflict, key: managerKey(conflict.manager) }))
    .sort((a, b) => compareBytes(a.key, b.key));
  let count = 0;
  const found: Found[] = [];
  for (const { manager, paths } of sorted) {
    const fields = [...pathsOf(paths).take(Math.max(0, MAX_NAMED - count))].map(pathText);
    count += sizeOf(paths).paths;
    if (fields.length > 0) found.push({ who: managerText(manager), fields });
  }
  const causes = found.flatMap(({ who, fields }) =>
    fields.map((field): StatusCause => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  return new ApiError(409, 'Conflict', messageOf(found, count), { details: { causes } });
}

interface Found {
  readonly who: string;
  readonly fields: readonly string[];
}

function messageOf(found: readonly Found[], count: number): string {
  const [first] = found;
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${first?.who}: ${first?.fields[0]}`;
  const lines = found.flatMap(({ who, fields }) => [`conflicts with ${who}:`, ...fields.map((field) => `- ${field}`)]);
  if (count > MAX_NAMED) lines.push(`and ${count - MAX_NAMED} more`);
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

/** AP-32: the version of updaters only; an applier is the same one in every version. */
function managerText({ name, subresource, operation, apiVersion }: Manager): string {
  const where = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`;
  return `${goQuote(name)}${where}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}
