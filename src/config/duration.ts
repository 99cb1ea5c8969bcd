import { parseGoDuration } from '../api/codec/go-text/go-parse.ts';

/** A duration as Go writes it (`24h`, `90s`, `1h30m`) in whole milliseconds; undefined when it is not one. */
export function parseDuration(text: string): number | undefined {
  const parsed = parseGoDuration(text);
  return parsed.ok && parsed.milliseconds >= 0 && Number.isSafeInteger(parsed.milliseconds)
    ? parsed.milliseconds
    : undefined;
}
