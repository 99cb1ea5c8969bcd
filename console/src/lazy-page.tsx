import { type ComponentType, lazy } from 'react';

/** The script of a page could not be loaded. The browser and React keep that until the document is loaded again. */
export class PageLoadError extends Error {}

/** A page whose script loads when it is first shown. */
export const lazyPage = <Props extends object>(load: () => Promise<ComponentType<Props>>) =>
  lazy(async () => {
    try {
      return { default: await load() };
    } catch (cause) {
      throw new PageLoadError('The script of the page could not be loaded', { cause });
    }
  });
