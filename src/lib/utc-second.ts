/** A second since the epoch, in UTC and without its zone, as in `2026-01-02T03:04:05`. */
export const utcSecond = (second: number): string => new Date(second * 1000).toISOString().slice(0, 19);

/** RFC 3339 in UTC with seconds: the only form of time in the API (T-09). */
export const toTimestamp = (epochMs: number): string => `${utcSecond(Math.floor(epochMs / 1000))}Z`;
