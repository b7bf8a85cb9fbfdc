import { useSyncExternalStore } from "react";

/** How the page looks now, for what draws itself and cannot be styled. */
export function useTheme(): string {
  return useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme ?? "light");
}

function subscribe(onChange: () => void): () => void {
  const watch = new MutationObserver(onChange);
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => watch.disconnect();
}
