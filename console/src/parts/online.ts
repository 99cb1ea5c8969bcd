import { useSyncExternalStore } from 'react';

const subscribe = (listener: () => void): (() => void) => {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
};

/** Whether the browser has a network. A stream that was open when it went may take minutes to notice. */
export const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine);
