import { type RefObject, useCallback, useEffect, useLayoutEffect, useState } from 'react';

/** Rows rendered above and below the viewport, so that fast scrolling shows no gap. */
const OVERSCAN = 8;

interface VirtualRows {
  readonly first: number;
  /** One past the last rendered row. */
  readonly end: number;
  readonly scrollTo: (index: number) => void;
}

/** The range of rows to render for a list of rows with equal height. */
export function useVirtualRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
  headHeight: number,
): VirtualRows {
  const [range, setRange] = useState({ first: 0, end: 20 });
  const measure = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    // After rows were removed, scrollTop can be beyond the new end until the next layout.
    const maxScrollTop = Math.max(0, headHeight + count * rowHeight - element.clientHeight);
    const top = Math.floor(Math.min(element.scrollTop, maxScrollTop) / rowHeight);
    const first = Math.max(0, Math.min(top - OVERSCAN, count));
    const end = Math.min(count, top + Math.ceil(element.clientHeight / rowHeight) + OVERSCAN);
    setRange((before) => (before.first === first && before.end === end ? before : { first, end }));
  }, [scroller, count, rowHeight, headHeight]);
  useLayoutEffect(measure, [measure]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const resizes = new ResizeObserver(measure);
    resizes.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      resizes.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [scroller, measure]);
  const scrollTo = useCallback(
    (index: number) => {
      const element = scroller.current;
      if (element === null) return;
      const top = index * rowHeight;
      const visibleHeight = element.clientHeight - headHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + rowHeight > element.scrollTop + visibleHeight) element.scrollTop = top + rowHeight - visibleHeight;
      measure();
    },
    [scroller, rowHeight, headHeight, measure],
  );
  return { ...range, scrollTo };
}
