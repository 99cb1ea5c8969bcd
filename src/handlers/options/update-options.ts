import { parseWriteOptions, type WriteOptions } from './write-parameters.ts';

/** @throws ApiError 422 with every fault. */
export const parseUpdateOptions = (query: URLSearchParams): WriteOptions => parseWriteOptions('UpdateOptions', query);
