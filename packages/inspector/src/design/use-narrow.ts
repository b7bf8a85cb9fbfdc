import { useSyncExternalStore } from "react";

const narrow = window.matchMedia("(max-width: 767px)");

/** Whether the screen is that of a phone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}

function subscribe(onChange: () => void): () => void {
  narrow.addEventListener("change", onChange);
  return () => narrow.removeEventListener("change", onChange);
}
