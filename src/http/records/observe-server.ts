import type { MemoryUsage } from '../../lib/memory-account.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { by, labels, type Series } from '../../observability/metrics/series.ts';
import type { PriorityLevelUsage } from '../flow-control/priority-level.ts';

/** What a scrape asks of the parts of this server. */
interface ObservedServer {
  readonly levels: () => Readonly<Record<string, PriorityLevelUsage>>;
  readonly memory: () => MemoryUsage;
  readonly handshakes: () => { readonly rejected: number; readonly waiting: number };
}

/** Flow control with kube-apiserver's names. There are no flow schemas, so there is no label for them. */
export function observeServer({ gauge, counter }: Metrics, { levels, memory, handshakes }: ObservedServer): void {
  const byLevel = (of: (used: PriorityLevelUsage) => number): Series => by('priority_level', levels, of);
  gauge(
    'apiserver_flowcontrol_current_executing_requests',
    'Requests that have a seat, open watches among them.',
    byLevel(({ executing }) => executing),
    'sum',
  );
  const waiting = byLevel(({ inQueue }) => inQueue);
  gauge('apiserver_flowcontrol_current_inqueue_requests', 'Requests that wait for a seat.', waiting, 'sum');
  counter(
    'apiserver_flowcontrol_dispatched_requests_total',
    'Seats that requests got. A request whose body arrives late gets a second one.',
    byLevel(({ dispatched }) => dispatched),
  );
  counter(
    'apiserver_flowcontrol_rejected_requests_total',
    'Requests that were rejected with 429, by reason.',
    labels(['priority_level', 'reason'], () =>
      Object.entries(levels()).flatMap(([priority_level, { rejected }]) =>
        Object.entries(rejected).map(([reason, count]) => [{ priority_level, reason }, count] as const),
      ),
    ),
  );
  gauge(
    'clusterpass_request_memory_bytes',
    'Memory for bodies, selectors of open watches, and what clients have not read.',
    () => memory().bytes,
    'sum',
  );
  counter(
    'clusterpass_request_memory_refused_total',
    'Requests that were rejected with 429 for their memory, by the limit.',
    by('limit', () => memory().refused),
  );
  counter(
    'clusterpass_request_memory_ended_watches_total',
    'Watches that ended with 410 because too much memory waited for their clients.',
    () => memory().givenUp,
  );
  gauge(
    'clusterpass_tls_handshakes_waiting',
    'Connections whose handshake begins in one of the next ticks of the event loop: one begins in each.',
    () => handshakes().waiting,
    'sum',
  );
  counter(
    'clusterpass_tls_handshakes_rejected_total',
    'Connections that were closed before their handshake, because too many from their address had not authenticated.',
    () => handshakes().rejected,
  );
}
