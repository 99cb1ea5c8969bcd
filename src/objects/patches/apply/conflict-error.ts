import { compareBytes } from '../../../api/codec/go-text/go-json-text.ts';
import { goQuote } from '../../../api/codec/go-text/go-quote.ts';
import { ApiError, type StatusCause } from '../../../api/status.ts';
import { pathsOf } from './field-set.ts';
import { pathText } from './fields-v1.ts';
import { type Manager, managerKey } from './managers.ts';
import type { Conflict } from './ownership.ts';

/** Of paths in one answer. An object has at most a few hundred that several managers own. */
const MAX_CAUSES = 1_000;

/** AP-31 to AP-35: the 409 of an apply. */
export function applyConflict(conflicts: readonly Conflict[]): ApiError {
  const sorted = [...conflicts].sort((a, b) => compareBytes(managerKey(a.manager), managerKey(b.manager)));
  const found = sorted.map(({ manager, paths }) => ({
    who: managerText(manager),
    fields: [...pathsOf(paths)].map(pathText),
  }));
  const causes = found.flatMap(({ who, fields }) =>
    fields.map((field): StatusCause => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  return new ApiError(409, 'Conflict', messageOf(found), { details: { causes: causes.slice(0, MAX_CAUSES) } });
}

function messageOf(found: readonly { readonly who: string; readonly fields: readonly string[] }[]): string {
  const count = found.reduce((sum, { fields }) => sum + fields.length, 0);
  const [first] = found;
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${first?.who}: ${first?.fields[0]}`;
  const lines = found.flatMap(({ who, fields }) => [`conflicts with ${who}:`, ...fields.map((field) => `- ${field}`)]);
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

/** AP-32: the version of updaters only; an applier is the same one in every version. */
function managerText({ name, subresource, operation, apiVersion }: Manager): string {
  const where = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`;
  return `${goQuote(name)}${where}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}
