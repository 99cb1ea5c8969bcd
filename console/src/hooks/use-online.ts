import { useSyncExternalStore } from 'react';

const subscribe = (listener: () => void): (() => void) => {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
};

/** Whether the browser has a network. An open watch can take minutes to notice that the network is gone. */
export const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine);
