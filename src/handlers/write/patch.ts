import { decodeValue } from '../../api/codec/decode.ts';
import { keepPart } from '../../api/codec/keep-part.ts';
import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { toPlain } from '../../api/codec/tree.ts';
import { duplicatesIn } from '../../api/codec/violations.ts';
import { type ApiObject, type Kind, objectKeyOf } from '../../api/kind.ts';
import { type ApiRequest, type ApiResponse, type SentBody, sentBody } from '../../api/request.ts';
import { badRequest, unsupportedMediaType } from '../../api/status.ts';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { withServedFields } from '../../objects/managed-fields.ts';
import { applyJsonPatch } from '../../objects/patches/json-patch.ts';
import { applyMergePatch } from '../../objects/patches/merge-patch.ts';
import { applyStrategicMergePatch } from '../../objects/patches/strategic-merge-patch.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import { parsePatchOptions, type WriteOptions } from '../options/write-options.ts';
import { APPLY_TYPES, applyObject } from './apply.ts';
import { keepHidden, requireShown } from './hidden-fields.ts';
import { checkSameObject, preconditionsIn, warnOfDropped, withWarnings } from './read-body.ts';
import { partOf, seesWhole, updateStored, type WriteParts, writingOf } from './write-parts.ts';

type ApplyPatch = (document: JsonValue, patch: JsonValue, kind: Kind) => JsonValue;

/** The patch types of custom resources; a 415 lists the keys. */
const CUSTOM_PATCHES: Readonly<Record<string, ApplyPatch>> = {
  'application/json-patch+json': applyJsonPatch,
  'application/merge-patch+json': (document, patch) => {
    if (!isJsonObject(patch)) throw badRequest('a merge patch must be a JSON object');
    return applyMergePatch(document, patch);
  },
};

const STRATEGIC = 'application/strategic-merge-patch+json';

/** By the style of the kind. kubectl sends strategic merge patches for the built-in kinds. */
const PATCHES: Readonly<Record<Kind['style'], Readonly<Record<string, ApplyPatch>>>> = {
  custom: CUSTOM_PATCHES,
  builtin: {
    ...CUSTOM_PATCHES,
    [STRATEGIC]: (document, patch, { shape }) => applyStrategicMergePatch(document, patch, shape),
  },
};

const MEDIA_TYPES: Readonly<Record<Kind['style'], readonly string[]>> = {
  custom: [...Object.keys(PATCHES.custom), ...APPLY_TYPES],
  builtin: [...Object.keys(PATCHES.builtin), ...APPLY_TYPES],
};

/** In the order in which error messages list them. */
export const patchMediaTypes = (style: Kind['style']): readonly string[] => MEDIA_TYPES[style];

export async function patchObject(parts: WriteParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  if (APPLY_TYPES.includes(sentBody(request.body).mediaType)) return applyObject(parts, request, kind);
  const { work } = request;
  const { options, patched } = readPatch(parts, request, kind);
  if (work.isUsedUp) await work.turn();
  return updateStored(parts, request, kind, patched, writingOf(request, options));
}

/** The patch of the body, which is no apply, as a function of the current object. */
export function readPatch(
  parts: Pick<WriteParts, 'views' | 'publicView'>,
  request: ApiRequest,
  kind: Kind,
): { readonly options: WriteOptions; readonly patched: (current: ApiObject) => ApiObject } {
  const body = sentBody(request.body);
  const patches = PATCHES[kind.style];
  const apply = Object.hasOwn(patches, body.mediaType) ? patches[body.mediaType] : undefined;
  if (apply === undefined) throw unsupportedMediaType(patchMediaTypes(kind.style));
  const options = parsePatchOptions(request.query);
  const patch = parsePatch(request, kind, body);
  const patched = (current: ApiObject): ApiObject => {
    // The patch applies to what the caller sees: `copy` could move a hidden field to where all can read it.
    const isWhole = seesWhole(parts, request, kind, current);
    const shown = isWhole ? withServedFields(kind, current) : parts.publicView(current);
    const known = shown as unknown as JsonValue;
    const decoded = decodeValue(apply(known, patch, kind), kind, options.fieldValidation, { known });
    const result = withWarnings(request, kind, decoded);
    checkSameObject(result, kind, objectKeyOf(request, kind));
    checkPreconditions(kind, current, preconditionsIn(result));
    if (isWhole) return result;
    if (partOf(request) === 'status') return { ...current, status: result.status };
    requireShown(parts, request, kind, { sent: result, current }, 'patch');
    return keepHidden(parts, result, current);
  };
  return { options, patched };
}

function parsePatch({ warn }: ApiRequest, kind: Kind, { bytes, mediaType }: SentBody): JsonValue {
  try {
    const sent = parseJson(bytes);
    // The last one counts, and may be the wider one.
    const duplicates = kind.shape.isStrict ? duplicatesIn(sent) : [];
    if (duplicates.length > 0) throw badRequest(`error decoding patch: ${duplicates.join(', ')}`);
    if (mediaType !== STRATEGIC) return toPlain(sent);
    // Its directives about lists that are not kept (the containers of a pod) cannot be checked without their schema.
    const { root, dropped } = keepPart(sent, kind.shape, { isPatch: true });
    warnOfDropped(warn, kind, dropped);
    return toPlain(root);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}
