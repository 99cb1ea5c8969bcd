/** The age of a timestamp, in the format and precision of kubectl (B-03). */
export function humanAge(timestamp: string | number | null, now: number): string {
  if (timestamp === null) return '<unknown>';
  const then = new Date(timestamp).getTime();
  return Number.isNaN(then) ? '<invalid>' : humanDuration(now - then);
}

interface Unit {
  readonly letter: string;
  readonly seconds: number;
}

const SECOND: Unit = { letter: 's', seconds: 1 };
const MINUTE: Unit = { letter: 'm', seconds: 60 };
const HOUR: Unit = { letter: 'h', seconds: 3_600 };
const DAY: Unit = { letter: 'd', seconds: 86_400 };
const YEAR: Unit = { letter: 'y', seconds: 365 * 86_400 };

/** Durations shorter than `below` are printed in `unit`, and the remainder in `rest`. */
const STEPS: readonly { readonly below: number; readonly unit: Unit; readonly rest?: Unit }[] = [
  { below: 2 * MINUTE.seconds, unit: SECOND },
  { below: 10 * MINUTE.seconds, unit: MINUTE, rest: SECOND },
  { below: 3 * HOUR.seconds, unit: MINUTE },
  { below: 8 * HOUR.seconds, unit: HOUR, rest: MINUTE },
  { below: 2 * DAY.seconds, unit: HOUR },
  { below: 8 * DAY.seconds, unit: DAY, rest: HOUR },
  { below: 2 * YEAR.seconds, unit: DAY },
  { below: 8 * YEAR.seconds, unit: YEAR, rest: DAY },
  { below: Number.POSITIVE_INFINITY, unit: YEAR },
];

function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  // Clocks of two machines may differ by a second.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const step = STEPS.find(({ below }) => seconds < below);
  if (step === undefined) return '<invalid>';
  const { unit, rest } = step;
  const whole = `${Math.floor(seconds / unit.seconds)}${unit.letter}`;
  const left = rest === undefined ? 0 : Math.floor((seconds % unit.seconds) / rest.seconds);
  return left === 0 ? whole : `${whole}${left}${rest?.letter}`;
}

/** `24h`, `1h30m`, `1m30s`: the syntax of `--duration`, without a loss of precision. */
export function exactDuration(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${rest > 0 || seconds === 0 ? `${rest}s` : ''}`;
}
