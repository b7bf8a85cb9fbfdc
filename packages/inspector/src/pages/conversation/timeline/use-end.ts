import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** How near to the end counts as being at it. */
const NEAR = 40;
/** How long after a person's wheel, finger or key what scrolls is their doing. */
const THEIRS_MS = 1_000;
const INPUTS = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/**
 * Keeps the end of a box in sight as it grows, until a person scrolls away from it. Where the box stands says nothing of
 * that: heights are estimated and corrected, so that it moves by itself.
 */
export function useEnd(
  box: RefObject<HTMLElement | null>,
  ...growth: readonly unknown[]
): { readonly isAtEnd: boolean; readonly toEnd: () => void } {
  const [isAtEnd, setAtEnd] = useState(true);
  const sticks = useRef(true);
  const toEnd = useCallback(() => {
    sticks.current = true;
    setAtEnd(true);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [box]);
  useLayoutEffect(() => {
    if (sticks.current) toEnd();
  }, [toEnd, ...growth]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let theirs = Number.NEGATIVE_INFINITY;
    const onInput = () => {
      theirs = performance.now();
    };
    const onScroll = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      if (isNear) sticks.current = true;
      else if (performance.now() - theirs < THEIRS_MS) sticks.current = false;
      setAtEnd(sticks.current);
    };
    // What opens below makes the box smaller.
    const sizes = new ResizeObserver(() => sticks.current && toEnd());
    sizes.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    for (const input of INPUTS) element.addEventListener(input, onInput, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", onScroll);
      for (const input of INPUTS) element.removeEventListener(input, onInput);
    };
  }, [box, toEnd]);
  return { isAtEnd, toEnd };
}
