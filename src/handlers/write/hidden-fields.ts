import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import type { ApiRequest } from '../../api/request.ts';
import { forbidden } from '../../api/status.ts';
import { equalJson, type JsonValue } from '../../lib/json.ts';
import { LAST_APPLIED } from '../../objects/patches/apply/last-applied.ts';
import type { WriteParts } from './write-parts.ts';

type Parts = Pick<WriteParts, 'publicView'>;
type Members = Readonly<Record<string, unknown>>;

/** Fields of the metadata that clients can set and the public view does not show. */
const HIDDEN_METADATA = ['finalizers', 'generateName', 'ownerReferences'] as const;

/** The server computes them: a body may repeat them, and they are not stored. */
const COMPUTED: readonly string[] = Object.values(COMPUTED_ANNOTATIONS);

interface Write {
  readonly sent: ApiObject;
  readonly current: ApiObject;
}

/**
 * The first thing that a write sets beside labels and annotations that the public view shows. The configuration of an
 * apply need not repeat the spec of the view.
 */
export function hiddenIn({ publicView }: Parts, { sent, current }: Write, write: 'apply' | 'patch' | 'update') {
  const isSpecLeftOut = write === 'apply' && Object.keys(membersOf(sent.spec)).length === 0;
  const isSpecShown = isSpecLeftOut || equalJson(jsonOf(sent.spec), jsonOf(publicView(current).spec));
  // kubectl keeps the last applied configuration in its patches: `keepHidden` drops it.
  const allowed = write === 'apply' ? COMPUTED : [...COMPUTED, LAST_APPLIED];
  const [hidden] = [
    ...(isSpecShown ? [] : ['spec']),
    ...Object.keys(membersOf(sent.metadata.annotations))
      .filter((key) => !allowed.includes(key) && !Object.hasOwn(shownAnnotations(publicView, sent), key))
      .map((key) => `metadata.annotations[${key}]`),
    ...HIDDEN_METADATA.filter((name) => sent.metadata[name] !== undefined).map((name) => `metadata.${name}`),
  ];
  return hidden;
}

/**
 * A caller who sees only the public view of a cluster sets nothing that it hides. Otherwise the answer would tell
 * whether a guess of a hidden value is right: the same value is no conflict of an apply, does not raise the generation,
 * needs no permission to confirm, and a patch that changes nothing keeps the resourceVersion.
 *
 * @throws ApiError 403
 */
export function requireShown(
  parts: Parts,
  { caller, target }: Pick<ApiRequest, 'caller' | 'target'>,
  kind: Kind,
  objects: Write,
  write: 'apply' | 'patch',
): void {
  const hidden = hiddenIn(parts, objects, write);
  if (hidden === undefined) return;
  const who = `user ${goQuote(caller.as(target.name).name)}`;
  throw forbidden(kind, target.name, `${who} cannot set ${hidden} without permission to update the cluster`);
}

/** What the public view hides, and the spec, stay as they are: a body that was made from the view erases nothing. */
export function keepHidden({ publicView }: Parts, changed: ApiObject, current: ApiObject): ApiObject {
  const shownBefore = shownAnnotations(publicView, current);
  const isHidden = (key: string): boolean => !Object.hasOwn(shownBefore, key);
  const hidden = Object.entries(membersOf(current.metadata.annotations)).filter(([key]) => isHidden(key));
  const shown = Object.entries(shownAnnotations(publicView, changed)).filter(([key]) => !COMPUTED.includes(key));
  const annotations = Object.fromEntries([...hidden, ...shown]) as Record<string, string>;
  return { ...current, metadata: { ...current.metadata, labels: changed.metadata.labels ?? {}, annotations } };
}

/**
 * The sent object with the fields of the spec that the public view hides and that it leaves out: no client loses the
 * reference to the credential by accident. An empty `authInfo` removes it.
 */
export function withHiddenSpec({ publicView }: Parts, kind: Kind, sent: ApiObject, current: ApiObject): ApiObject {
  if (!isClusters(kind)) return sent;
  const shown = membersOf(publicView(current).spec);
  const hidden = Object.entries(membersOf(current.spec)).filter(([name]) => !Object.hasOwn(shown, name));
  if (sent.spec === undefined && hidden.length === 0) return sent;
  return { ...sent, spec: { ...Object.fromEntries(hidden), ...membersOf(sent.spec) } };
}

/** Whether a body was made from the public view: it has an annotation that is computed, and not stored. */
export function isMadeFromView({ publicView }: Parts, kind: Kind, sent: ApiObject, current: ApiObject): boolean {
  if (!isClusters(kind)) return false;
  const [own, stored] = [sent, current].map(({ metadata }) => membersOf(metadata.annotations));
  return Object.keys(shownAnnotations(publicView, current)).some(
    (key) => !Object.hasOwn(stored ?? {}, key) && Object.hasOwn(own ?? {}, key),
  );
}

const membersOf = (value: unknown): Members => (value ?? {}) as Members;
const jsonOf = (value: unknown): JsonValue => (value ?? null) as JsonValue;
const shownAnnotations = (publicView: Parts['publicView'], object: ApiObject): Members =>
  membersOf(publicView(object).metadata.annotations);
