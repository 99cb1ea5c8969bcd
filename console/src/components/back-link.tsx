import { useSession } from '../hooks/use-session.ts';
import { hrefOf } from '../router.ts';
import { BackIcon } from './icons.tsx';

/** To the table of clusters, with its filter. */
export const BackLink = () => (
  <a className="back" href={hrefOf({ page: 'fleet', query: useSession().fleetQuery })}>
    <BackIcon /> Clusters
  </a>
);
