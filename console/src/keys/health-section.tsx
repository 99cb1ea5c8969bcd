import type { Client } from '../../../src/client/index.ts';
import { Problem } from '../components/problem.tsx';
import { DetailList, Section } from '../components/section.tsx';
import { useQuery, useRounds } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { type HealthFact, metricFacts, readinessFacts } from './health.ts';

const INTERVAL_MS = 15_000;

/** The server answers 503 with the same text when a check fails. */
async function readChecks(client: Client): Promise<HealthFact[]> {
  try {
    return readinessFacts(await client.text('/readyz', { query: { verbose: 1 } }));
  } catch (error) {
    const facts = readinessFacts(error instanceof Error ? error.message.replaceAll(' [', '\n[') : '');
    if (facts.length === 0) throw error;
    return facts;
  }
}

/** The state of the replica that answers: checks, store, caches, clock, audit log, certificates. */
export function HealthSection() {
  const { client, permissions } = useSession();
  const readsMetrics = permissions.canGetPath('/metrics');
  const round = useRounds(INTERVAL_MS);
  const checks = useQuery('', () => readChecks(client), round);
  const metrics = useQuery(
    String(readsMetrics),
    async () => (readsMetrics ? metricFacts(await client.text('/metrics')) : []),
    round,
  );
  const problem = checks.status === 'failed' ? checks.message : metrics.status === 'failed' ? metrics.message : '';
  return (
    <Section title="Health">
      <p className="muted">
        Of the replica that answers this page{readsMetrics ? '' : '. Figures need the permission to get /metrics'}.
      </p>
      <Problem text={problem} />
      <div className="stack facts">
        <Facts facts={checks.status === 'loaded' ? checks.value : []} />
        <Facts facts={metrics.status === 'loaded' ? metrics.value : []} />
      </div>
    </Section>
  );
}

const Facts = ({ facts }: { facts: readonly HealthFact[] }) =>
  facts.length > 0 && (
    <DetailList details={Object.fromEntries(facts.map((fact) => [fact.name, <Fact key={fact.name} {...fact} />]))} />
  );

const Fact = ({ text, state }: HealthFact) => <span className={`fact fact-${state}`}>{text}</span>;
