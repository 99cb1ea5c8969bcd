import { CliError } from './command.ts';

/** A name as a segment of a path. A URL parser would remove `.` and `..`, and the request would go to another path. */
export function pathSegment(name: string, what = 'a name'): string {
  if (name === '' || name === '.' || name === '..') throw new CliError(`${JSON.stringify(name)} is not ${what}`);
  return encodeURIComponent(name);
}
