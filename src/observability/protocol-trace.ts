import { openSync, writeSync } from 'node:fs';

/** Records a step of a protocol, for the checker of docs/models.md. Undefined unless `--trace-file` is set. */
export type Trace = (step: string, facts: object) => void;

/** Appends a line of JSON for each step, by the monotonic clock of the machine, in milliseconds: others jump. */
export function openTrace(file: string): Trace {
  const fd = openSync(file, 'a', 0o600);
  // A process id may return.
  const by = `${process.pid}-${Date.now()}`;
  return (step, facts) => {
    const at = Number(process.hrtime.bigint()) / 1e6;
    writeSync(fd, `${JSON.stringify({ at, by, step, ...facts })}\n`);
  };
}
