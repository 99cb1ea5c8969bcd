import { clip } from '../../../lib/text.ts';
import { goQuote } from './go-quote.ts';

/** The text is not a time for Go's `time.Parse(time.RFC3339, ...)`. The message is Go's. */
export class TimeSyntaxError extends Error {
  override readonly name = 'TimeSyntaxError';
}

const LAYOUT = '"2006-01-02T15:04:05Z07:00"';

/** The elements of the layout in order, as Go names them in its messages. */
const ELEMENTS: ReadonlyArray<{ readonly name: string; readonly match: RegExp }> = [
  { name: '2006', match: /[0-9]{4}/y },
  { name: '-', match: /-/y },
  { name: '01', match: /[0-9]{2}/y },
  { name: '-', match: /-/y },
  { name: '02', match: /[0-9]{2}/y },
  { name: 'T', match: /T/y },
  { name: '15', match: /[0-9]{2}/y },
  { name: ':', match: /:/y },
  { name: '04', match: /[0-9]{2}/y },
  { name: ':', match: /:/y },
  { name: '05', match: /[0-9]{2}/y },
  // Go accepts a fraction of any length here, though the layout has none.
  { name: '', match: /(?:\.[0-9]+)?/y },
  { name: 'Z07:00', match: /Z|[-+][0-9]{2}:[0-9]{2}/y },
];

/**
 * T-09: RFC 3339 in, whole seconds in UTC out: `2006-01-02T15:04:05Z`. The year 1, which is Go's zero
 * time, means that no time is set: undefined.
 */
export function parseGoTime(text: string): string | undefined {
  const parts = split(text);
  const [year, month, day, hour, minute, second] = [0, 2, 4, 6, 8, 10].map((index) => Number(parts[index]));
  const outOfRange = (what: string): TimeSyntaxError =>
    new TimeSyntaxError(`parsing time ${goQuote(clip(text, 64))}: ${what} out of range`);
  const limits: ReadonlyArray<readonly [number, number, number, string]> = [
    [month ?? 0, 1, 12, 'month'],
    [hour ?? 0, 0, 23, 'hour'],
    [minute ?? 0, 0, 59, 'minute'],
    [second ?? 0, 0, 59, 'second'],
    [day ?? 0, 1, daysIn(year ?? 0, month ?? 0), 'day'],
  ];
  for (const [value, least, most, what] of limits) if (value < least || value > most) throw outOfRange(what);

  const zone = parts[12] ?? 'Z';
  const [zoneHours, zoneMinutes] = zone === 'Z' ? [0, 0] : [Number(zone.slice(1, 3)), Number(zone.slice(4))];
  if (zoneHours > 24) throw outOfRange('time zone offset hour');
  if (zoneMinutes > 59) throw outOfRange('time zone offset minute');
  const offset = (zoneHours * 60 + zoneMinutes) * 60_000 * (zone.startsWith('-') ? -1 : 1);
  const local = Date.parse(`${parts.slice(0, 11).join('')}Z`);
  const instant = new Date(local - offset).toISOString();
  // An offset can move the first and the last day of the calendar out of its range.
  if (!/^[0-9]{4}-/.test(instant)) throw outOfRange('year');
  const normal = `${instant.slice(0, 19)}Z`;
  return normal === '0001-01-01T00:00:00Z' ? undefined : normal;
}

function split(text: string): string[] {
  let at = 0;
  const parts = ELEMENTS.map(({ name, match }) => {
    match.lastIndex = at;
    const part = match.exec(text)?.[0];
    if (part === undefined) throw unparsable(text, `cannot parse ${goQuote(clip(text.slice(at), 64))} as "${name}"`);
    at += part.length;
    return part;
  });
  if (at < text.length)
    throw new TimeSyntaxError(
      `parsing time ${goQuote(clip(text, 64))}: extra text: ${goQuote(clip(text.slice(at), 64))}`,
    );
  return parts;
}

const unparsable = (text: string, why: string): TimeSyntaxError =>
  new TimeSyntaxError(`parsing time ${goQuote(clip(text, 64))} as ${LAYOUT}: ${why}`);

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * The canonical form of text that Go's `base64.StdEncoding` decodes; undefined for other text. Line breaks are allowed
 * anywhere. Through bytes: unused bits of the last digit must not give two texts for the same data.
 */
export function canonicalBase64(text: string): string | undefined {
  const canonical = Buffer.from(text, 'base64').toString('base64');
  return canonical === text || BASE64.test(text.replaceAll(/[\r\n]/g, '')) ? canonical : undefined;
}
