import type { Provider } from './provider-metadata.ts';

/** What the server tells the page about itself (`settings.json` beside it). */
export interface Settings {
  readonly productName: string;
  readonly version: string;
  /** Where people sign in, if not with a token only. */
  readonly provider?: Provider;
}

/** The root of the server: the page is in its folder `console/`. */
export const serverRoot = (): string => new URL('..', location.href.replace(/[?#].*$/, '')).href.replace(/\/$/, '');

export async function loadSettings(): Promise<Settings> {
  const response = await fetch('settings.json', { credentials: 'omit', redirect: 'error' });
  if (!response.ok) throw new Error(`the server answered with ${response.status}`);
  return (await response.json()) as Settings;
}
