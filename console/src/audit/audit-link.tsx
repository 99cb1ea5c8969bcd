import { visibleName } from '../../../src/lib/text.ts';
import { useSession } from '../hooks/use-session.ts';
import { CLUSTERPASS } from '../permissions/permissions.ts';
import { linkTo } from '../router.ts';

interface AuditLinkProps {
  readonly field: 'user' | 'cluster' | 'pass';
  readonly value: string;
  readonly text?: string;
}

/** Leads to the events of a person, a cluster or a pass, if the user may read those of the fleet. */
export function AuditLink({ field, value, text = visibleName(value) }: AuditLinkProps) {
  const mayRead = useSession().permissions.can('create', CLUSTERPASS, 'auditeventreviews');
  return (
    <a href={mayRead ? linkTo('audit', { [field]: value }) : undefined} title={value}>
      {text}
    </a>
  );
}
