import type { Metric, MetricValueWithName, Registry } from '@prometheus-io/client';

/** Labels of kube-apiserver, so that what is made for its metrics works with these. All have few values. */
export type RequestLabels = Readonly<
  Record<'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'scope' | 'component' | 'dry_run', string>
>;

/** kube-apiserver's, for `apiserver_request_duration_seconds`. */
export const REQUEST_SECONDS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** What is known of the requests that have the same labels. */
export class TallyRow {
  readonly labels: RequestLabels;
  readonly codes = new Map<number, number>();
  /** How many took no longer than this and longer than the one before; those beyond the last at the end. */
  readonly buckets: number[] = Array.from({ length: REQUEST_SECONDS.length + 1 }, () => 0);
  seconds = 0;

  constructor(labels: RequestLabels) {
    this.labels = labels;
  }

  answered(code: number): void {
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
  }

  took(seconds: number): void {
    let at = 0;
    while (at < REQUEST_SECONDS.length && seconds > (REQUEST_SECONDS[at] as number)) at++;
    this.buckets[at] = (this.buckets[at] as number) + 1;
    this.seconds += seconds;
  }
}

type Values = () => MetricValueWithName<string>[];

/**
 * The two metrics that change with every request. The library finds a series by putting its eight labels together to a text,
 * for each of them anew; whoever counts here keeps the row.
 */
export class RequestTally {
  readonly #rows = new Map<string, TallyRow>();

  constructor(registry: Registry) {
    const help = {
      total: 'Requests, by verb, dry run, resource, scope and code of the answer; 499 when the client left before it.',
      seconds: 'How long requests took, watches excepted.',
    };
    register(registry, 'apiserver_request_total', 'counter', help.total, () =>
      this.#each(({ labels, codes }) =>
        [...codes].map(([code, value]) => ({ labels: { ...labels, code: String(code) }, value })),
      ),
    );
    const name = 'apiserver_request_duration_seconds';
    register(registry, name, 'histogram', help.seconds, () => this.#each((row) => timesOf(name, row)));
  }

  rowOf(labels: RequestLabels): TallyRow {
    // None of them can hold a blank: they are parts of paths that were routed, or words of ours.
    const { verb, group, version, resource, subresource, scope, dry_run: dryRun } = labels;
    const key = `${verb} ${group} ${version} ${resource} ${subresource} ${scope} ${dryRun}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = new TallyRow(labels);
    this.#rows.set(key, row);
    return row;
  }

  #each(valuesOf: (row: TallyRow) => MetricValueWithName<string>[]): MetricValueWithName<string>[] {
    return [...this.#rows.values()].flatMap(valuesOf);
  }
}

function timesOf(name: string, { labels, buckets, seconds }: TallyRow): MetricValueWithName<string>[] {
  // A watch is counted, and not timed.
  if (buckets.every((inBucket) => inBucket === 0)) return [];
  let count = 0;
  const values: MetricValueWithName<string>[] = buckets.map((inBucket, at) => {
    count += inBucket;
    return { metricName: `${name}_bucket`, labels: { le: REQUEST_SECONDS[at] ?? '+Inf', ...labels }, value: count };
  });
  values.push(
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: count },
  );
  return values;
}

/** All that a registry asks of a metric. */
function register(registry: Registry, name: string, type: 'counter' | 'histogram', help: string, values: Values): void {
  const about = { name, help, type, aggregator: 'sum' };
  const metric = { ...about, get: async () => ({ ...about, values: values() }) };
  registry.registerMetric(metric as unknown as Metric<string>);
}
