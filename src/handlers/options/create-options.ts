import type { Query } from '../../api/request.ts';
import { parseWriteOptions, type WriteOptions } from './write-parameters.ts';

/** @throws ApiError 422 with every fault. */
export const parseCreateOptions = (query: Query): WriteOptions => parseWriteOptions('CreateOptions', query);
