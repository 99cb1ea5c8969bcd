import { PROTOBUF_TYPE } from '../../api/codec/decode.ts';
import { parseGoBool } from '../../api/codec/go-text/go-parse.ts';
import type { BodyType } from '../../api/kind.ts';
import type { Accepted, Query, Verb } from '../../api/request.ts';
import { ApiError, notAcceptable, unsupportedMediaType } from '../../api/status.ts';

export interface NegotiatedAnswer extends Accepted {
  /** The clause that was chosen has `pretty=1`. */
  readonly prettyClause: boolean;
}

export interface AcceptRules {
  readonly style: BodyType['style'];
  readonly verb: Verb;
  /** The forms beyond the plain object that this endpoint can answer in. */
  readonly offers: ReadonlySet<Accepted['as']>;
}

export const PLAIN_JSON: NegotiatedAnswer = { mediaType: 'application/json', as: 'object', prettyClause: false };

/** Chooses the format of the answer, or throws 406. `accept` is the first `Accept` line only (N-06). */
export function negotiateAccept(accept: string | undefined, rules: AcceptRules): NegotiatedAnswer {
  if (accept === undefined || accept === '' || accept === 'application/json') return PLAIN_JSON;
  if (rules.style === 'builtin' && !routerAccepts(accept)) throw routerNotAcceptable();
  const chosen = choose(accept, rules.offers);
  if (chosen === undefined) throw notAcceptable(WRITABLE_NAMES);
  if (rules.verb === 'watch' && chosen.format.stream === undefined) throw notAcceptable(STREAM_NAMES);
  return chosen.answer;
}

/** Whether an error that comes before the negotiation is to be indented. */
export const prettyByAccept = (accept: string | undefined): boolean =>
  accept?.includes('pretty') === true && choose(accept, EVERY_FORM)?.answer.prettyClause === true;

const EVERY_FORM: AcceptRules['offers'] = new Set(['table', 'partial-object-metadata', 'partial-object-metadata-list']);

/** N-03: kube-apiserver's router matches built-in endpoints first. It knows `*\/*` and no other wildcard. */
function routerAccepts(accept: string): boolean {
  return accept.split(',').some((clause) => {
    const range = clause.split(';', 1)[0]?.trim() ?? '';
    return range === '*/*' || WRITABLE_NAMES.includes(range);
  });
}

const routerNotAcceptable = (): ApiError =>
  new ApiError(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${WRITABLE_NAMES.join(', ')}`, {
    details: {},
  });

function choose(
  accept: string,
  offers: AcceptRules['offers'],
): { format: MediaType; answer: NegotiatedAnswer } | undefined {
  for (const clause of parseAccept(accept)) {
    const as = formOf(clause.params);
    // N-07: a clause that asks for a form which the endpoint does not have is passed over.
    if (as === undefined || (as !== 'object' && !offers.has(as))) continue;
    for (const format of WRITABLE) {
      if (format.writes === undefined || !acceptsType(clause, format.name)) continue;
      const prettyClause = clause.params.get('pretty') === '1';
      return { format, answer: { mediaType: format.writes, as, prettyClause } };
    }
  }
  return undefined;
}

const FORMS: ReadonlyMap<string, Accepted['as']> = new Map([
  ['Table', 'table'],
  ['PartialObjectMetadata', 'partial-object-metadata'],
  ['PartialObjectMetadataList', 'partial-object-metadata-list'],
]);
const FORM_VERSIONS: ReadonlySet<string> = new Set(['v1', 'v1beta1']);

/** The form that the parameters of a clause ask for; undefined for an unknown one. */
function formOf(params: AcceptClause['params']): Accepted['as'] | undefined {
  if (params.size === 0) return 'object';
  const stream = params.get('stream');
  const serverVersion = params.get('sv');
  if ((stream !== undefined && stream !== 'watch') || (serverVersion !== undefined && serverVersion !== 'v1')) {
    return undefined;
  }
  const kind = params.get('as');
  const group = params.get('g');
  const version = params.get('v');
  if (kind === undefined && group === undefined && version === undefined) return 'object';
  const known = group === 'meta.k8s.io' && FORM_VERSIONS.has(version ?? '');
  return known ? FORMS.get(kind ?? '') : undefined;
}

/** The bare media type of a body, checked against what may be sent here, or 415 (N-02). A patch has no default. */
export function negotiateContentType(
  contentType: string | undefined,
  accepted: readonly string[],
  byDefault?: string,
): string {
  // As nearly every client sends it.
  if (contentType !== undefined && accepted.includes(contentType)) return contentType;
  const name = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const chosen = name === '' ? byDefault : name;
  if (chosen === undefined || !accepted.includes(chosen)) throw unsupportedMediaType(accepted);
  return chosen;
}

/** Q-10: the parameter decides; without it, clients whose answers people read get them indented. */
export function prettyByDefault(query: Query, userAgent: string | undefined): boolean {
  const wanted = query.get('pretty');
  if (wanted !== null && wanted !== '') {
    const parsed = parseGoBool(wanted);
    return parsed.ok && parsed.value;
  }
  return userAgent !== undefined && /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

/** N-09: the exact token and nothing else; a quality on it makes it unknown. */
export const acceptsGzip = (acceptEncoding: string | undefined): boolean => acceptsCoding(acceptEncoding, 'gzip');

export const acceptsCoding = (acceptEncoding: string | undefined, coding: string): boolean =>
  acceptEncoding?.split(',').some((token) => token.trim() === coding) === true;

/** The first of these types that `Accept` allows, for a document that has no other form. Throws 406. */
export function chosenType(accept: string | undefined, types: readonly [string, ...string[]]): string {
  if (accept === undefined || accept === '') return types[0];
  for (const clause of parseAccept(accept)) {
    const found = types.find((type) => acceptsType(clause, type));
    if (found !== undefined) return found;
  }
  throw notAcceptable(types);
}

/** One format of the API: all that negotiation and its error messages know of it. */
interface MediaType {
  readonly name: string;
  /** The styles of resources whose request bodies can be in it. */
  readonly reads: readonly BodyType['style'][];
  /** What the handlers see when it is negotiated for an answer; undefined when answers are never in it. */
  readonly writes: Accepted['mediaType'] | undefined;
  /** The media type of its stream of watch events; undefined when there is none. */
  readonly stream: string | undefined;
}

/** In order of preference: the first is used when a client names none (N-01). */
export const MEDIA_TYPES: readonly MediaType[] = [
  {
    name: 'application/json',
    reads: ['builtin', 'custom'],
    writes: 'application/json',
    stream: 'application/json;stream=watch',
  },
  { name: 'application/yaml', reads: ['builtin', 'custom'], writes: 'application/yaml', stream: undefined },
  // X-01: what kubectl and client-go send for built-in types. They accept JSON in return.
  { name: PROTOBUF_TYPE, reads: ['builtin'], writes: undefined, stream: undefined },
];

const WRITABLE: readonly MediaType[] = MEDIA_TYPES.filter(({ writes }) => writes !== undefined);
export const WRITABLE_NAMES: readonly string[] = WRITABLE.map(({ name }) => name);
const readable = (style: BodyType['style']): readonly string[] =>
  MEDIA_TYPES.filter(({ reads }) => reads.includes(style)).map(({ name }) => name);
export const READABLE_NAMES: Readonly<Record<BodyType['style'], readonly string[]>> = {
  builtin: readable('builtin'),
  custom: readable('custom'),
};
const STREAM_NAMES: readonly string[] = MEDIA_TYPES.flatMap(({ stream }) => stream ?? []);

/** One clause of an `Accept` header. */
export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly params: ReadonlyMap<string, string>;
}

/** The clauses of an `Accept` header, best first: by quality, then concrete types before wildcards (N-06). */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of header.split(',')) {
    const clause = parseClause(part);
    if (clause !== undefined) clauses.push(clause);
  }
  return clauses.sort((a, b) => b.quality - a.quality || wildcards(a) - wildcards(b));
}

/** Whether the clause names this media type, or a range that contains it. */
export function acceptsType({ type, subtype }: AcceptClause, mediaType: string): boolean {
  if (subtype === '*') return type === '*' || mediaType.startsWith(`${type}/`);
  return mediaType === `${type}/${subtype}`;
}

function parseClause(text: string): AcceptClause | undefined {
  const [range = '', ...rest] = text.split(';');
  const [type = '', subtype, ...more] = range.trim().split('/');
  if (more.length > 0 || (subtype === undefined && type !== '*')) return undefined;
  let quality = 1;
  const params = new Map<string, string>();
  for (const param of rest) {
    const [key = '', value, ...excess] = param.split('=');
    if (value === undefined || value === '' || excess.length > 0) continue;
    if (key.trim() === 'q') quality = qualityOf(value);
    else params.set(key.trim(), value.trim());
  }
  return { type: type.trim(), subtype: (subtype ?? '*').trim(), quality, params };
}

/** N-06: `q=0` does not exclude, it is the last choice. So is a quality that is no number. */
function qualityOf(text: string): number {
  const quality = Number(text);
  return Number.isFinite(quality) ? quality : 0;
}

const wildcards = ({ type, subtype }: AcceptClause): number => (type === '*' ? 2 : 0) + (subtype === '*' ? 1 : 0);
