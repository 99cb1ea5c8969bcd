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

/** Whether HTML is the first choice, as of a browser. */
export function prefersHtml(header: string | undefined): boolean {
  const [best] = header === undefined ? [] : parseAccept(header);
  return best?.type === 'text' && best.subtype === 'html';
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
