import { useSyncExternalStore } from "react";

/** The theme: the system's, or the user's choice. */
export type Theme = "system" | "light" | "dark";

const KEY = "reins.theme";
const DARK = "(prefers-color-scheme: dark)";

/** Applies the chosen theme, and again when the system's changes. */
export function startTheme(): void {
  applyTheme(chosenTheme());
  window.matchMedia(DARK).addEventListener("change", () => applyTheme(chosenTheme()));
}

/** The user's last choice in this browser. */
export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Stores a choice and applies it. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme(theme);
}

function applyTheme(theme: Theme): void {
  const isDark = theme === "dark" || (theme === "system" && window.matchMedia(DARK).matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

/** The theme in effect, for canvases that CSS cannot style. */
export function useTheme(): string {
  return useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme ?? "light");
}

function subscribe(onChange: () => void): () => void {
  const watch = new MutationObserver(onChange);
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => watch.disconnect();
}
