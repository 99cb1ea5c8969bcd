const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Longer than any real duration; bounds the time to parse one. */
const MAX_LENGTH = 40;

/**
 * A duration as Go writes it (`24h`, `5m`, `90s`, `1h30m`, `1.5h`), in milliseconds; undefined when it is not one.
 * Go's units below a millisecond are not supported: no option needs them.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '' || text.length > MAX_LENGTH) return undefined;
  const part = /(\d+(?:\.\d+)?)(ms|s|m|h)/y;
  let total = 0;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (match === null) return undefined;
    total += Number(match[1]) * (MILLISECONDS[match[2] ?? ''] ?? Number.NaN);
  }
  // Fractions of a unit are subject to floating-point rounding.
  const rounded = Math.round(total);
  return Number.isSafeInteger(rounded) && Math.abs(rounded - total) < 1e-3 ? rounded : undefined;
}
