import type { Kind } from '../../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { checkNamespace, readObject } from './read-body.ts';
import { createStored, managerOf, type WriteParts } from './write-parts.ts';

export async function createObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const { work } = request;
  const options = parseCreateOptions(request.query);
  const sent = readObject(request, kind, options.fieldValidation);
  request.nameObject(sent.metadata.name ?? '');
  checkNamespace(sent, kind, request.target.namespace);
  if (work.isUsedUp) await work.turn();
  const { dryRun } = options;
  return createStored(parts, request, kind, sent, { dryRun, manager: managerOf(request, options), warn: request.warn });
}
