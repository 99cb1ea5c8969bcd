const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`);

/**
 * A second since the epoch, in UTC and without its zone, as in `2026-01-02T03:04:05`. By arithmetic: a request does it
 * several times, and `toISOString` takes 2 µs, and 1 MB of memory once.
 */
export function utcSecond(second: number): string {
  if (!Number.isFinite(second)) throw new RangeError('Invalid time value');
  // Years that begin in March have the leap day at their end. Each 400 of them have 146,097 days.
  const days = Math.floor(second / 86_400) + 719_468;
  const day = days % 146_097;
  const year = Math.trunc((day - Math.trunc(day / 1_460) + Math.trunc(day / 36_524) - Math.trunc(day / 146_096)) / 365);
  const dayOfYear = day - (365 * year + Math.trunc(year / 4) - Math.trunc(year / 100));
  const march = Math.trunc((5 * dayOfYear + 2) / 153);
  const month = march < 10 ? march + 3 : march - 9;
  const fullYear = year + 400 * Math.trunc(days / 146_097) + (month <= 2 ? 1 : 0);
  const date = [month, dayOfYear - Math.trunc((153 * march + 2) / 5) + 1].map(two).join('-');
  const rest = second - Math.floor(second / 86_400) * 86_400;
  const time = [rest / 3_600, (rest / 60) % 60, rest % 60].map((each) => two(Math.trunc(each))).join(':');
  return `${String(fullYear).padStart(4, '0')}-${date}T${time}`;
}

/** RFC 3339 in UTC with seconds: the only form of time in the API (T-09). */
export const toTimestamp = (epochMs: number): string => `${utcSecond(Math.floor(epochMs / 1000))}Z`;
