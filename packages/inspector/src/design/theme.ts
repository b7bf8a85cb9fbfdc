import { useSyncExternalStore } from "react";

/** How the page looks: as the system wishes, or as the person chose. */
export type Theme = "system" | "light" | "dark";

const KEY = "reins.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => applyTheme(chosenTheme()));

/** What the person chose last, on this browser. */
export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Remembers a choice and shows it. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme(theme);
}

/** Shows the page in a theme. */
export function applyTheme(theme: Theme): void {
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

/** How the page looks now, for what draws itself and cannot be styled. */
export function useTheme(): string {
  return useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme ?? "light");
}

function subscribe(onChange: () => void): () => void {
  const watch = new MutationObserver(onChange);
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => watch.disconnect();
}
