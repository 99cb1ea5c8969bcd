import { type ApiObject, type Kind, objectKeyOf } from '../../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { conflict, invalid, invalidValue } from '../../api/status.ts';
import { parseCreateOptions, parseUpdateOptions } from '../options/write-options.ts';
import { hiddenIn, isMadeFromView, keepHidden, withHiddenSpec } from './hidden-fields.ts';
import { checkNamespace, checkSameObject, preconditionsIn, readObject } from './read-body.ts';
import { createStored, updateStored, type WriteParts, writingOf } from './write-parts.ts';

/** `create` and `update`, whose body is a whole object. */

export async function createObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const { work } = request;
  const options = parseCreateOptions(request.query);
  const sent = readObject(request, kind, options.fieldValidation);
  request.nameObject(sent.metadata.name ?? '');
  checkNamespace(sent, kind, request.target.namespace);
  if (work.isUsedUp) await work.turn();
  return createStored(parts, request, kind, sent, writingOf(request, options));
}

export async function updateObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const { work } = request;
  const options = parseUpdateOptions(request.query);
  const sent = readObject(request, kind, options.fieldValidation);
  const objectKey = objectKeyOf(request, kind);
  checkSameObject(sent, kind, objectKey);
  if (work.isUsedUp) await work.turn();
  const preconditions = preconditionsIn(sent);
  const change = (current: ApiObject): ApiObject => {
    if (preconditions.resourceVersion === undefined) checkUnconditionalUpdate(kind, objectKey.name);
    if (!isMadeFromView(parts, kind, sent, current)) return withHiddenSpec(parts, kind, sent, current);
    const hidden = hiddenIn(parts, { sent, current }, 'update');
    if (hidden !== undefined) throw conflict(kind, objectKey.name, `${MADE_FROM_VIEW} to set ${hidden}`);
    return keepHidden(parts, sent, current);
  };
  return updateStored(parts, request, kind, change, { ...writingOf(request, options), preconditions });
}

const MADE_FROM_VIEW = 'the body was made from the public view: read the whole cluster';

/** Z-05: an update of a custom resource needs a resourceVersion. Here `details.kind` is the resource. */
function checkUnconditionalUpdate(kind: Kind, name: string): void {
  if (kind.style !== 'custom') return;
  throw invalid({ group: kind.group, kind: kind.resource }, name, [
    invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
  ]);
}
