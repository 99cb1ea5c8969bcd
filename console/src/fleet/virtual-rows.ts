import { type RefObject, useCallback, useEffect, useLayoutEffect, useState } from 'react';

/** Rows beyond the edges that are drawn all the same, so that a quick scroll shows no gap. */
const SPARE = 8;

export interface VirtualWindow {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
  readonly scrollTo: (index: number) => void;
}

/** Which rows of equal height are in view, and a few around them. The others are only room. */
export function useVirtualRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
  headHeight: number,
): VirtualWindow {
  const [range, setRange] = useState({ first: 0, end: 40 });
  const measure = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    // When rows have gone, the browser has yet to learn that there is less to scroll.
    const lowest = Math.max(0, headHeight + count * rowHeight - element.clientHeight);
    const top = Math.floor(Math.min(element.scrollTop, lowest) / rowHeight);
    const first = Math.max(0, Math.min(top - SPARE, count));
    const end = Math.min(count, top + Math.ceil(element.clientHeight / rowHeight) + SPARE);
    setRange((before) => (before.first === first && before.end === end ? before : { first, end }));
  }, [scroller, count, rowHeight, headHeight]);
  useLayoutEffect(measure, [measure]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [scroller, measure]);
  const scrollTo = useCallback(
    (index: number) => {
      const element = scroller.current;
      if (element === null) return;
      const top = index * rowHeight;
      const seen = element.clientHeight - headHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + rowHeight > element.scrollTop + seen) element.scrollTop = top + rowHeight - seen;
      measure();
    },
    [scroller, rowHeight, headHeight, measure],
  );
  return { ...range, scrollTo };
}
