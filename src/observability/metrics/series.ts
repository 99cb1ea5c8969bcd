import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** One value, or a value for each set of labels. True counts as 1. */
export type Samples =
  | number
  | boolean
  | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

type Read = () => Samples | Promise<Samples>;

/** What is read at each scrape, and the names of its labels. */
export interface Series {
  readonly labelNames: string[];
  readonly read: Read;
}

const labelled = (samples: Samples) => (typeof samples === 'object' ? samples : ([[{}, Number(samples)]] as const));

const seriesOf = (series: Read | Series): Series =>
  typeof series === 'function' ? { labelNames: [], read: series } : series;

export const labels = (labelNames: string[], read: Read): Series => ({ labelNames, read });

/** A series with one label, from a table of its values. True counts as 1. */
export const by = <T = number | boolean>(
  label: string,
  table: () => Readonly<Record<string, T>> | Promise<Readonly<Record<string, T>>>,
  value: (entry: T) => number = Number,
): Series =>
  labels([label], async () => Object.entries(await table()).map(([key, entry]) => [{ [label]: key }, value(entry)]));

/** How series are registered whose values are kept elsewhere, and read at each scrape. */
export function readAtScrape(registry: Registry) {
  const registers = [registry];
  return {
    /** A set of labels that is not read again has no sample. `aggregator`: see `mergeMetrics`. */
    gauge(name: string, help: string, of: Read | Series, aggregator: 'sum' | 'min' | 'max' = 'max'): void {
      const { labelNames, read } = seriesOf(of);
      void new Gauge<string>({
        ...{ name, help, labelNames, registers, aggregator },
        async collect() {
          const samples = labelled(await read());
          this.reset();
          // Several samples can have the same labels.
          for (const [labels, value] of samples) this.inc(labels, value);
        },
      });
    },
    counter(name: string, help: string, of: Read | Series): void {
      const { labelNames, read } = seriesOf(of);
      const reported = new Map<string, number>();
      void new Counter<string>({
        ...{ name, help, labelNames, registers },
        async collect() {
          for (const [labels, total] of labelled(await read())) {
            const key = Object.values(labels).join(' ');
            this.inc(labels, total - (reported.get(key) ?? 0));
            reported.set(key, total);
          }
        },
      });
    },
  };
}
