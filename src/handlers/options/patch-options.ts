import { forbiddenField } from '../../api/field-error.ts';
import type { Query } from '../../api/request.ts';
import { booleanParameter } from './query-parameters.ts';
import { parseWriteOptions, type WriteOptions } from './write-parameters.ts';

/**
 * `force` belongs to server-side apply, which is not served: with any other patch it is a mistake.
 *
 * @throws ApiError 422 with every fault.
 */
export function parsePatchOptions(query: Query): WriteOptions {
  const forced = booleanParameter(query, 'force') !== undefined;
  const errors = forced ? [forbiddenField('force', 'may not be specified for non-apply patch')] : [];
  return parseWriteOptions('PatchOptions', query, errors);
}
