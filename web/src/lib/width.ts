import { useEffect, useRef, useState, type RefObject } from "react";

/** How wide something is on the page, and how wide it is taken to be before that is known. */
export function useWidth<T extends Element = HTMLDivElement>(first = 800): [RefObject<T | null>, number] {
  const place = useRef<T>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const watch = new ResizeObserver(() => setWidth(Math.round(box.getBoundingClientRect().width) || first));
    watch.observe(box);
    return () => watch.disconnect();
  }, [first]);
  return [place, width];
}
