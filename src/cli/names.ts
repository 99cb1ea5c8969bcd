import { CliError, UsageError } from './command.ts';

/** A name as a segment of a path. A URL parser would remove `.` and `..`, and the request would go to another path. */
export function pathSegment(name: string, what = 'a name'): string {
  if (name === '' || name === '.' || name === '..') throw new CliError(`${JSON.stringify(name)} is not ${what}`);
  return encodeURIComponent(name);
}

/** Refuses `SERVER/NAME`, which only commands over several servers take, and says what to write instead. */
export function checkClusterName(text: string, flag = ''): void {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return;
  const [server, name] = [text.slice(0, slash), text.slice(slash + 1)];
  throw new UsageError(
    `${flag === '' ? '' : `${flag}: `}${JSON.stringify(text)} is not the name of a cluster: for the cluster ` +
      `${JSON.stringify(name)} of another server, use --server ${server}`,
  );
}
