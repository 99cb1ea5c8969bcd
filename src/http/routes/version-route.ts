import { goPlatform } from '../../lib/platform.ts';
import type { PathRoute, PathRoutes } from './routes.ts';

export interface VersionFacts {
  /** As in package.json: `0.1.0`. */
  readonly version: string;
  readonly gitCommit?: string;
  readonly buildDate?: string;
}

/** `/version` with the keys of X-18. Those that only a Go program has are empty. */
export function versionRoutes({ version, gitCommit = '', buildDate = '' }: VersionFacts): PathRoutes {
  const [major = '', minor = ''] = version.split('.');
  const body = JSON.stringify(
    {
      major,
      minor,
      gitVersion: `v${version}`,
      gitCommit,
      gitTreeState: gitCommit === '' ? '' : 'clean',
      buildDate,
      goVersion: '',
      compiler: '',
      platform: goPlatform(),
    },
    undefined,
    2,
  );
  const route: PathRoute = {
    public: true,
    methods: ['GET'],
    handle: () => ({ type: 'raw', code: 200, headers: { 'Content-Type': 'application/json' }, body }),
  };
  // Also below the prefix of any cluster: kubectl asks for it at the server address of its context.
  return { find: ({ path }) => (path === '/version' ? route : undefined) };
}
