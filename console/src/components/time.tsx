import { humanAge } from '../../../src/api/codec/go-text/human-duration.ts';
import { useNow } from '../hooks/use-now.ts';

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** `2026-11-16 23:05:10 UTC+1`, in the time zone of the browser. The one form of a point in time on every page. */
export function formatTime(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return 'unknown';
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
  return `${day} ${time} ${zoneOf(date)}`;
}

/** `UTC`, `UTC-8`, `UTC+5:30`: logs and the command line have UTC, and short names such as CST mean several zones. */
function zoneOf(date: Date): string {
  // Minutes that UTC is ahead.
  const offset = date.getTimezoneOffset();
  if (offset === 0) return 'UTC';
  const minutes = Math.abs(offset) % 60;
  const hours = Math.floor(Math.abs(offset) / 60);
  return `UTC${offset < 0 ? '+' : '-'}${hours}${minutes === 0 ? '' : `:${twoDigits(minutes)}`}`;
}

/** What the value of an `<input type="datetime-local">` is in UTC. */
export function describeLocalTime(value: string): string {
  const at = Date.parse(value);
  if (Number.isNaN(at)) return 'In your time zone.';
  return `In your time zone; ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
}

interface MomentProps {
  /** Epoch milliseconds, or a timestamp of the API. */
  readonly at: number | string;
}

/** NaN for what is no time, or too far away for a date. */
const millisecondsOf = (at: number | string): number => new Date(at).getTime();

const isoOf = (at: number): string | undefined => (Number.isNaN(at) ? undefined : new Date(at).toISOString());

const Moment = ({ time, text, title }: { time: number; text: string; title: string | undefined }) => (
  <time dateTime={isoOf(time)} title={title}>
    {Number.isNaN(time) ? 'unknown' : text}
  </time>
);

export function Time({ at }: MomentProps) {
  const time = millisecondsOf(at);
  return <Moment time={time} title={isoOf(time)} text={formatTime(time)} />;
}

const REFRESH_MS = 10_000;

/** How long ago it was, `46d ago`. */
export function Age({ at }: MomentProps) {
  const now = useNow(REFRESH_MS);
  const time = millisecondsOf(at);
  // The clock of the server can be ahead of this one.
  return <Moment time={time} title={formatTime(time)} text={`${humanAge(Math.min(time, now), now)} ago`} />;
}

/** How long it is until then, `in 46d`. */
export function Remaining({ at }: MomentProps) {
  const now = useNow(REFRESH_MS);
  const time = millisecondsOf(at);
  return (
    <Moment
      time={time}
      title={formatTime(time)}
      text={time <= now ? 'expired' : `in ${humanAge(now - (time - now), now)}`}
    />
  );
}
