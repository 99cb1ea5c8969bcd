import { goPlatform } from '../../lib/platform.ts';
import type { PathRoute, PathRoutes } from './routes.ts';

/** `/version` with the keys of X-18; what only a Go program knows is empty. The version as in package.json: `0.1.0`. */
export function versionRoutes(version: string): PathRoutes {
  const [major = '', minor = ''] = version.split('.');
  const body = JSON.stringify(
    {
      major,
      minor,
      gitVersion: `v${version}`,
      gitCommit: '',
      gitTreeState: '',
      buildDate: '',
      goVersion: '',
      compiler: '',
      platform: goPlatform(),
    },
    undefined,
    2,
  );
  const route: PathRoute = {
    public: true,
    handle: () => ({ type: 'raw', code: 200, headers: { 'Content-Type': 'application/json' }, body }),
  };
  // Also below the prefix of any cluster: kubectl asks for it at the server address of its context.
  return { find: ({ path }) => (path === '/version' ? route : undefined) };
}
