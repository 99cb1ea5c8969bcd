import { type RefObject, useEffect, useRef } from 'react';

/**
 * Moves the focus to the element of the ref when `value` changes and the control that had the focus is gone. Without
 * this, the next Tab starts at the top of the page, and a screen reader says nothing.
 */
export function useFocusAfterChange<T extends HTMLElement = HTMLElement>(
  value: unknown,
  block: ScrollLogicalPosition = 'nearest',
): RefObject<T | null> {
  const element = useRef<T>(null);
  const before = useRef(value);
  useEffect(() => {
    if (before.current === value) return;
    before.current = value;
    if (document.activeElement !== document.body) return;
    element.current?.scrollIntoView({ block });
    element.current?.focus({ preventScroll: true });
  }, [value, block]);
  return element;
}
