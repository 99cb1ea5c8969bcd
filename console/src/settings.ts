import type { Provider } from './session/oidc-client.ts';

/** The content of `settings.json`, which the server generates beside the page. */
export interface Settings {
  readonly productName: string;
  readonly version: string;
  /** For how long people may ask for access. */
  readonly maxRequestSeconds: number;
  /** For people who see no cluster. */
  readonly helpText?: string;
  /** Undefined if users can sign in only with a token. */
  readonly provider?: Provider;
}

/** The base URL of the server. The page is at `console/` below it. */
export const serverRoot = (): string => new URL('..', location.href.replace(/[?#].*$/, '')).href.replace(/\/$/, '');

export async function loadSettings(): Promise<Settings> {
  const response = await fetch('settings.json', { credentials: 'omit', redirect: 'error' });
  if (!response.ok) throw new Error(`GET settings.json: HTTP ${response.status}`);
  return (await response.json()) as Settings;
}
