export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of the text format of Prometheus, by the name of the metric. */
export function parseMetrics(text: string, names: ReadonlySet<string>): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value = ''] = line.startsWith('#') ? [] : (LINE.exec(line) ?? []);
    if (!names.has(name)) continue;
    const list = samples.get(name) ?? [];
    samples.set(name, list);
    list.push({ labels: labelsOf(labels), value: Number(value) });
  }
  return samples;
}

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char)),
    ]),
  );
