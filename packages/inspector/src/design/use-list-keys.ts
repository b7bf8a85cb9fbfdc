import { useEffect, useState } from "react";
import { isWriting } from "../app/use-go-keys.ts";

/** `j` and `k` go down and up a list, `Enter` opens. Gives the place that is chosen; -1 before the first key. */
export function useListKeys(length: number, onOpen: (place: number) => void): number {
  const [place, setPlace] = useState(-1);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target))
        return;
      if (event.key === "j") setPlace((now) => Math.min(length - 1, now + 1));
      if (event.key === "k") setPlace((now) => Math.max(0, now - 1));
      const isFocused = event.target instanceof HTMLElement && event.target !== document.body;
      if (event.key === "Enter" && place >= 0 && place < length && !isFocused) onOpen(place);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [length, onOpen, place]);
  return Math.min(place, length - 1);
}
