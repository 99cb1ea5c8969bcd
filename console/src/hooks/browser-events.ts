/** For effects and stores: listens to events, and returns what ends that. */
export const eventsOf =
  (target: EventTarget, ...types: readonly string[]) =>
  (listener: (event: Event) => void): (() => void) => {
    for (const type of types) target.addEventListener(type, listener);
    return () => {
      for (const type of types) target.removeEventListener(type, listener);
    };
  };
