import { useSyncExternalStore } from 'react';
import { eventsOf } from './browser-events.ts';

const subscribe = eventsOf(window, 'online', 'offline');

/** Whether the browser has a network. An open watch can take minutes to notice that the network is gone. */
export const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine);
