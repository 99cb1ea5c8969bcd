import { type ListenAddress, listenAddress, type ParseContext, path, ValueError } from './values.ts';

type StoreUrl =
  | { readonly engine: 'sqlite'; readonly path: string }
  | {
      readonly engine: 'etcd';
      readonly endpoints: readonly ListenAddress[];
      /** Prefix of every key in etcd; starts with `/` and does not end with one. */
      readonly prefix: string;
    };

const DEFAULT_ETCD_PREFIX = '/clusterpass';
/** Far above any real cluster: etcd recommends at most seven members. */
const MAX_ENDPOINTS = 32;
const PREFIX = /^(?:\/[A-Za-z0-9._-]{1,128}){1,8}$/;

/** `sqlite:PATH`, with the path made absolute, or `etcd://HOST:PORT,HOST:PORT/PREFIX`. */
export function storeUrl(text: string, context: ParseContext): StoreUrl {
  if (text.startsWith('etcd:')) return etcdUrl(text);
  const file = text.startsWith('sqlite:') ? text.slice('sqlite:'.length) : '';
  // SQLite reads these as an in-memory database or as a URI with options.
  if (file === '' || file.startsWith(':') || file.startsWith('//')) {
    throw new ValueError(
      'expected sqlite:PATH, such as sqlite:/var/lib/clusterpass/clusterpass.db, or etcd://HOST:PORT,HOST:PORT/PREFIX',
    );
  }
  return { engine: 'sqlite', path: path(file, context) };
}

function etcdUrl(text: string): StoreUrl {
  const shape = 'expected etcd://HOST:PORT,HOST:PORT/PREFIX, such as etcd://10.0.0.1:2379,10.0.0.2:2379/clusterpass';
  const rest = text.startsWith('etcd://') ? text.slice('etcd://'.length) : '';
  const slash = rest.indexOf('/');
  const hosts = slash === -1 ? rest : rest.slice(0, slash);
  if (hosts.includes('@')) {
    throw new ValueError(
      'a password on the command line is visible to other users: use --etcd-username and --etcd-password-file',
    );
  }
  const prefix = slash === -1 || slash === rest.length - 1 ? DEFAULT_ETCD_PREFIX : rest.slice(slash);
  if (!PREFIX.test(prefix) || prefix.split('/').some((part) => part === '.' || part === '..')) {
    throw new ValueError('expected a prefix of letters, digits, dots, hyphens and underscores, such as /clusterpass');
  }
  const names = hosts.split(',');
  if (names.length > MAX_ENDPOINTS) throw new ValueError(`expected at most ${MAX_ENDPOINTS} members`);
  const endpoints = names.map((name) => {
    try {
      return listenAddress(name);
    } catch (error) {
      if (error instanceof ValueError) throw new ValueError(shape);
      throw error;
    }
  });
  if (endpoints.some(({ port }) => port === 0) || new Set(names).size !== names.length) throw new ValueError(shape);
  return { engine: 'etcd', endpoints, prefix };
}
