import type { Client } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { Section } from '../components/section.tsx';
import { Remaining } from '../components/time.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { hrefOf } from '../router.ts';
import { accountOf, listHandles } from './handles.ts';

/** Passes that agents and people have asked for as handles. Nothing is shown when there are none. */
export function HandleList({ client }: { readonly client: Client }) {
  const { generation } = useRefresh();
  const query = useQuery('', () => listHandles(client), generation);
  const live = query.status === 'loaded' ? query.value.filter(({ status }) => isLive(status?.phase)) : [];
  if (live.length === 0) return null;
  return (
    <Section title="Requested passes">
      <ul className="plain-list">
        {live.map(({ metadata, spec, status }) => (
          <li key={metadata.name}>
            <a href={hrefOf({ page: 'pass', name: metadata.name })}>
              {accountOf(spec)} in {spec.cluster}
            </a>{' '}
            <span className={`state state-${(status?.phase ?? '').toLowerCase()}`}>{status?.phase}</span>{' '}
            <span className="muted wrap-anywhere">
              {visibleName(spec.requestedBy?.username ?? '')}, {spec.purpose}, ends{' '}
              <Remaining at={status?.expirationTimestamp ?? ''} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const isLive = (phase: string | undefined): boolean => phase === 'Pending' || phase === 'Ready';
