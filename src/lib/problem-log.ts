/** Tells a problem when it begins and when it changes, and its end: what repeats every second is told once. */
export function problemLog(log: (line: string) => void, what: string): (problem?: unknown) => void {
  let told = '';
  return (problem) => {
    const text = problem instanceof Error ? problem.message : '';
    if (text !== told) log(text === '' ? `${what}: it works again` : `${what}: ${text}`);
    told = text;
  };
}
