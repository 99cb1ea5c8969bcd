import { humanAge } from '../../../src/api/codec/go-text/human-duration.ts';
import { useNow } from '../hooks/use-now.ts';

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** `2026-11-16 23:05:10`, in the time zone of the browser. The one form of a point in time on every page. */
export function formatTime(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return 'unknown';
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`;
}

interface MomentProps {
  /** Epoch milliseconds, or a timestamp of the API. */
  readonly at: number | string;
}

const millisecondsOf = (at: number | string): number => (typeof at === 'number' ? at : Date.parse(at));

const isoOf = (at: number): string | undefined => (Number.isNaN(at) ? undefined : new Date(at).toISOString());

/** A point in time. */
export function Time({ at }: MomentProps) {
  const time = millisecondsOf(at);
  return (
    <time dateTime={isoOf(time)} title={isoOf(time)}>
      {formatTime(time)}
    </time>
  );
}

const REFRESH_MS = 10_000;

/** How long ago it was, `46d ago`. */
export function Age({ at }: MomentProps) {
  const now = useNow(REFRESH_MS);
  const time = millisecondsOf(at);
  return (
    <time dateTime={isoOf(time)} title={formatTime(time)}>
      {/* The clock of the server can be ahead of this one. */}
      {Number.isNaN(time) ? 'unknown' : `${humanAge(Math.min(time, now), now)} ago`}
    </time>
  );
}

/** How long it is until then, `in 46d`. */
export function Remaining({ at }: MomentProps) {
  const now = useNow(REFRESH_MS);
  const time = millisecondsOf(at);
  const text = Number.isNaN(time) ? 'unknown' : time <= now ? 'expired' : `in ${humanAge(now - (time - now), now)}`;
  return (
    <time dateTime={isoOf(time)} title={formatTime(time)}>
      {text}
    </time>
  );
}
