import { SUPPORT_READ, supportEnd } from '../../../src/api/kubernetes-support.ts';
import { ENDING_DAYS, HISTORY_HOURS, OVERVIEW_PATH, type Overview } from '../../../src/api/overview.ts';
import { ConnectionError } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { ChartRow } from '../components/chart.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Section } from '../components/section.tsx';
import { Time } from '../components/time.tsx';
import { clustersHref } from '../fleet/filter-query.ts';
import { useQuery, useRounds } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { linkTo } from '../router.ts';
import { History, type HistoryProps } from './history.tsx';

const INTERVAL_MS = 60_000;
/** A version whose support ends sooner needs a plan. */
const SOON_MS = 60 * 86_400_000;

/** The fleet as a whole, as the server counts it: no list of clusters is loaded. */
export function OverviewPage() {
  const { client, watchFleet } = useSession();
  const round = useRounds(INTERVAL_MS);
  const load = async (): Promise<Overview & { at: number }> => {
    try {
      return { ...(await client.request<Overview>('GET', OVERVIEW_PATH)).value, at: Date.now() };
    } catch (error) {
      // The watch says that the connection is lost, and when it is back.
      if (error instanceof ConnectionError) watchFleet();
      throw error;
    }
  };
  return (
    <div className="page-body stack">
      <h1>Overview</h1>
      <Loaded query={useQuery('', load, round)}>{(overview) => <Panels {...overview} />}</Loaded>
    </div>
  );
}

function Panels({ clusters, reasons, versions, ends, waiting, hours, at }: Overview & { readonly at: number }) {
  const all = clusters.True + clusters.False + clusters.Unknown;
  const requests = waiting.accessrequests + waiting.passes;
  const keys = linkTo('keys');
  const readiness = { hours, numbers: READINESS, texts: [[shareOf, NOT_READY]] as const };
  return (
    <>
      <p className="muted">
        All clusters, as of <Time at={at} />
      </p>
      <div className="panels">
        <Section title="Now">
          <Bars
            bars={[
              { name: 'All clusters', count: all, fill: 'all', href: clustersHref({}) },
              { name: 'Ready', count: clusters.True, fill: 'ready', href: clustersHref({ readiness: 'ready' }) },
              { name: 'Not ready', count: clusters.False, fill: 'not-ready', href: NOT_READY },
              { name: 'Unknown', count: clusters.Unknown, href: clustersHref({ readiness: 'unknown' }) },
              { name: 'Requests that wait', count: requests, fill: 'all', href: linkTo('requests') },
            ]}
          />
        </Section>
        <Section title="Readiness">
          <History title="24 hours" columns={24} hoursEach={1} {...readiness} />
          <History title="7 days" columns={HISTORY_HOURS / 6} hoursEach={6} {...readiness} />
        </Section>
        <Section title="Not ready, by reason">
          <Bars bars={reasons.filter(({ status }) => status !== 'True').map(reasonBar)} />
        </Section>
        <Section title="Kubernetes versions">
          <Bars bars={Object.entries(versions).sort(newestFirst).map(versionBar)} />
          <p className="muted hint">End of support by kubernetes.io/releases, read on {SUPPORT_READ}.</p>
        </Section>
        <Section title={`Ends within ${ENDING_DAYS} days`}>
          <Bars
            bars={[
              { name: 'CAs of clusters', count: ends.clusterCAs, href: ENDING_CAS },
              { name: 'Certificate of the server', count: ends.certificates, href: keys },
              { name: 'Signing keys', count: ends.signingKeys, href: keys },
              { name: 'Bindings', count: ends.bindings, href: linkTo('access', { view: 'bindings', ends: 'soon' }) },
              { name: 'Bootstrap tokens', count: ends.bootstrapTokens, note: 'kubectl get bootstraptokens' },
            ]}
          />
        </Section>
        <Section title="Passes by hour">
          <History title="24 hours" columns={24} hoursEach={1} hours={hours} numbers={PASSES} texts={PASS_TEXTS} />
        </Section>
      </div>
    </>
  );
}

const NOT_READY = clustersHref({ readiness: 'not-ready' });
const PASS_TEXTS: HistoryProps['texts'] = [
  [([issued = 0]) => `${issued.toLocaleString()} issued`, linkTo('passes', { scope: 'all' })],
  [([, refused = 0]) => `${refused.toLocaleString()} refused`, linkTo('audit', { failures: 'true' })],
];
const ENDING_CAS = clustersHref({ labels: [`@ca-ends-within=${ENDING_DAYS}d`] });

interface Bar {
  readonly name: string;
  readonly count: number;
  /** The page that lists what is counted, if there is one. */
  readonly href?: string;
  readonly fill?: string;
  readonly note?: string;
}

function Bars({ bars }: { readonly bars: readonly Bar[] }) {
  const largest = Math.max(1, ...bars.map(({ count }) => count));
  if (bars.length === 0) return <p className="muted">None.</p>;
  return bars.map(({ name, count, href, fill = 'unknown', note }) => (
    <a key={name} className="chart-row" href={href}>
      <ChartRow name={name} parts={[[fill, count]]} largest={largest} />
      {note !== undefined && <span className={fill === 'not-ready' ? 'problem' : 'muted'}>{note}</span>}
    </a>
  ));
}

function reasonBar({ status, reason, count }: Overview['reasons'][number]): Bar {
  const readiness = status === 'False' ? 'not-ready' : 'unknown';
  const href = clustersHref({ readiness, labels: [`@reason=${reason}`] });
  return { name: visibleName(reason) || `${status}, no reason`, count, href, fill: readiness };
}

/** What is unknown comes last. */
const newestFirst = ([a]: [string, number], [b]: [string, number]): number => Number(b.slice(2)) - Number(a.slice(2));

function versionBar([minor, count]: [string, number]): Bar {
  const end = supportEnd(minor);
  const left = Date.parse(end ?? '') - Date.now();
  const noEnd = minor === '' ? 'not reported' : 'newer than this table';
  return {
    ...{ name: minor || 'unknown', count, href: clustersHref({ labels: [`@version=${minor}`] }) },
    note: end === undefined ? noEnd : `${left < 0 ? 'ended by' : 'until'} ${end}`,
    fill: left < 0 ? 'not-ready' : left > SOON_MS ? 'ready' : 'unknown',
  };
}

const READINESS = { ready: 1, unknown: 3, 'not-ready': 2 };
const PASSES = { ready: 4, 'not-ready': 5 };

/** Rounded down: 100 % is true. */
function shareOf([ready = 0, unknown = 0, notReady = 0]: readonly number[]): string {
  const all = ready + unknown + notReady;
  return all === 0 ? 'no record yet' : `${Math.floor((1_000 * ready) / all) / 10} % ready`;
}
