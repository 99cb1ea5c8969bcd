import { checkAccess, toViewCluster } from '../access/access-review.ts';
import { GrantPath } from '../access/grant-path.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Section } from '../components/section.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

interface AccessSectionProps {
  readonly name: string;
  /** A label of the cluster can decide which bindings apply, so a new resourceVersion repeats the check. */
  readonly resourceVersion: string;
}

/** The binding and the role that let the user see the cluster. */
export function AccessSection({ name, resourceVersion }: AccessSectionProps) {
  const { client } = useSession();
  const query = useQuery(`${name} ${resourceVersion}`, () => checkAccess(client, toViewCluster(name)));
  return (
    <Section title="Your access">
      <Loaded query={query}>
        {(result) =>
          result.allowed && result.grant !== undefined ? (
            <GrantPath grant={result.grant} />
          ) : (
            <p>{result.text || (result.allowed ? 'Allowed.' : 'You can list this cluster but not get it.')}</p>
          )
        }
      </Loaded>
    </Section>
  );
}
