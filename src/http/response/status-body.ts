import { toJson } from '../../api/codec/encode.ts';
import type { ApiError } from '../../api/status.ts';

const prepared = new WeakMap<ApiError, Buffer>();

/** For an error that is made once and answered often: its bytes are made once, too. Its Status must not change any more. */
export function prepareStatus(error: ApiError): ApiError {
  prepared.set(error, bytesOf(error));
  return error;
}

/** The compact form of its Status. */
export const statusBody = (error: ApiError): Buffer => prepared.get(error) ?? bytesOf(error);

const bytesOf = ({ status }: ApiError): Buffer => Buffer.from(toJson(status));
