import type { ServerResponse } from 'node:http';

/** Upper bounds in seconds, those of kube-apiserver. */
const BOUNDS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
/** How long a request may be served, as in Clusterpass. */
const SERVING_MS = 34_000;
const SWEEP_MS = 1_000;

interface InFlight {
  readonly res: ServerResponse;
  readonly received: number;
}

/** Duty: metrics, and a deadline for each request. */
export class RequestMetrics {
  readonly #byCode = new Map<number, number>();
  readonly #byCluster = new Map<string, number>();
  readonly #buckets = new Array<number>(BOUNDS.length + 1).fill(0);
  #seconds = 0;
  /** In the order of their deadlines, which are all equally long: one timer is enough for all. */
  readonly #inFlight = new Set<InFlight>();

  constructor() {
    setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  begin(res: ServerResponse): InFlight {
    const request = { res, received: performance.now() };
    this.#inFlight.add(request);
    return request;
  }

  end(request: InFlight, code: number, cluster: string): void {
    this.#inFlight.delete(request);
    const seconds = (performance.now() - request.received) / 1000;
    this.#seconds += seconds;
    let bucket = 0;
    while (seconds > (BOUNDS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#byCode.set(code, (this.#byCode.get(code) ?? 0) + 1);
    this.#byCluster.set(cluster, (this.#byCluster.get(cluster) ?? 0) + 1);
  }

  /** The response of `GET /metrics`. */
  get snapshot(): object {
    return {
      inFlight: this.#inFlight.size,
      byCode: Object.fromEntries(this.#byCode),
      byCluster: Object.fromEntries(this.#byCluster),
      buckets: this.#buckets,
      seconds: this.#seconds,
    };
  }

  #sweep(): void {
    const due = performance.now() - SERVING_MS;
    for (const request of this.#inFlight) {
      if (request.received > due) return;
      this.#inFlight.delete(request);
      request.res.destroy();
    }
  }
}

/** Begins a request; the returned function ends it with the code of its response. Without metrics it does nothing. */
export function begun(metrics: RequestMetrics | undefined, res: ServerResponse, cluster = ''): (code: number) => void {
  const request = metrics?.begin(res);
  return (code) => {
    if (request !== undefined) metrics?.end(request, code, cluster);
  };
}
