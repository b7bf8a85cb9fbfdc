import { useEffect, useState } from "react";
import { isWriting } from "../app/use-go-keys.ts";

/**
 * `j` and `k` go down and up a list of things that each have a key of their own. Gives the key of the one that is chosen,
 * which stays chosen when others come before it. Its link or button takes the focus, so that `Enter` opens it.
 */
export function useListKeys(keys: readonly string[]): string | undefined {
  const [chosen, setChosen] = useState<string>();
  const place = chosen === undefined ? -1 : keys.indexOf(chosen);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target))
        return;
      if (event.key === "j") setChosen(keys[Math.min(keys.length - 1, place + 1)]);
      if (event.key === "k") setChosen(keys[Math.max(0, place - 1)]);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [keys, place]);
  return place < 0 ? undefined : chosen;
}

/** Gives the focus to something that has become the chosen one of a list, unless somebody writes elsewhere. */
export function takeFocus(element: HTMLElement | null): void {
  if (element && !isWriting(document.activeElement)) element.focus();
}
