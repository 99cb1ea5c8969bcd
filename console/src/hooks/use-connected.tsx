import { createContext, type ReactNode, useContext, useState } from 'react';

/** Whether the server answers. What the page shows may be out of date otherwise, and requests would fail. */
export const ConnectedContext = createContext(true);

export const useConnected = (): boolean => useContext(ConnectedContext);

/** How often the server has answered again, for queries that failed meanwhile, or whose answers are out of date. */
export function useReconnections(isConnected: boolean): number {
  const [state, setState] = useState({ isConnected, count: 0 });
  if (state.isConnected === isConnected) return state.count;
  const count = state.count + (isConnected ? 1 : 0);
  setState({ isConnected, count });
  return count;
}

/** Controls that send a request. They are disabled while the server does not answer. */
export function ServerControls({ children }: { readonly children: ReactNode }) {
  return (
    <fieldset className="contents" disabled={!useConnected()}>
      {children}
    </fieldset>
  );
}
