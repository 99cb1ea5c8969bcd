const LINE = /^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/;

/** The sum of each metric over its labels, from the text format of Prometheus. */
export function sumsIn(text: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = LINE.exec(line) ?? [];
    if (name !== '') sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}
