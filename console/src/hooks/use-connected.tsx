import { createContext, type ReactNode, useContext } from 'react';

/** Whether the server answers. What the page shows may be out of date otherwise, and requests would fail. */
export const ConnectedContext = createContext(true);

export const useConnected = (): boolean => useContext(ConnectedContext);

/** Controls that send a request. They are disabled while the server does not answer. */
export function ServerControls({ children }: { readonly children: ReactNode }) {
  return (
    <fieldset className="contents" disabled={!useConnected()}>
      {children}
    </fieldset>
  );
}
