import { useEffect, useRef, useState } from "react";

/** The part of a key press that decides whether it is a command. */
type Press = Pick<KeyboardEvent, "ctrlKey" | "metaKey" | "altKey" | "defaultPrevented" | "target">;

/** Whether key presses go into an input. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether a key is pressed without a modifier, and was not handled yet. */
export function isBare({ ctrlKey, metaKey, altKey, defaultPrevented }: Omit<Press, "target">): boolean {
  return !ctrlKey && !metaKey && !altKey && !defaultPrevented;
}

/** Whether a key press is a command of the page: bare, and not typed into an input. */
export function isCommand(press: Press): boolean {
  return isBare(press) && !isTyping(press.target);
}

/** Handles the key presses of the whole page that are commands; with `capture`, before other handlers. */
export function useKeys(
  onKey: (event: KeyboardEvent) => void,
  { capture = false, accepts = isCommand }: { capture?: boolean; accepts?: (press: Press) => boolean } = {},
): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (accepts(event)) latest.current(event);
    };
    window.addEventListener("keydown", listen, { capture });
    return () => window.removeEventListener("keydown", listen, { capture });
  }, [capture, accepts]);
}

/** The place in a list after a key: `j` moves on, `k` moves back, others stay. A place of -1 is before the list. */
export function placeAfter(key: string, place: number, length: number): number {
  if (key === "j") return Math.min(length - 1, place + 1);
  return key === "k" ? Math.max(0, place - 1) : place;
}

/**
 * Moves through a list with `j` and `k`; returns the key of the selected item, which stays selected when items are
 * inserted before it. Its link or button takes the focus, so that `Enter` opens it.
 */
export function useListKeys(keys: readonly string[]): string | undefined {
  const [chosen, setChosen] = useState<string>();
  const place = chosen === undefined ? -1 : keys.indexOf(chosen);
  useKeys(({ key }) => {
    const next = placeAfter(key, place, keys.length);
    if (next !== place) setChosen(keys[next]);
  });
  return place < 0 ? undefined : chosen;
}

/** Focuses the selected item of a list, unless the focus is in an input. */
export function focusSelected(element: HTMLElement | null): void {
  if (element && !isTyping(document.activeElement)) element.focus();
}
