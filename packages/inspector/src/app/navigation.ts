import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { IconName } from "../design/icons.tsx";

/** A page of the navigation, with the key that opens it after `g`. */
interface Destination {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  readonly key: string;
}

export const DESTINATIONS: readonly Destination[] = [
  { to: "/", label: "Overview", icon: "overview", key: "o" },
  { to: "/sessions", label: "Sessions", icon: "sessions", key: "s" },
  { to: "/approvals", label: "Approvals", icon: "approvals", key: "a" },
  { to: "/policy", label: "Policy", icon: "policy", key: "p" },
  { to: "/ledger", label: "Ledger", icon: "ledger", key: "l" },
  { to: "/agents", label: "Agents", icon: "agents", key: "g" },
  { to: "/wire", label: "Wire", icon: "wire", key: "w" },
];

const WITHIN_MS = 1_500;

/** Opens a page with `g` and a letter, unless the focus is in an input. */
export function useGoKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let pressed = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const destination =
        Date.now() - pressed < WITHIN_MS ? DESTINATIONS.find(({ key }) => key === event.key) : undefined;
      pressed = event.key === "g" && !destination ? Date.now() : 0;
      if (!destination) return;
      event.preventDefault();
      void navigate({ to: destination.to });
    };
    // Runs before other handlers, which skip a prevented event: the letter after `g` only navigates.
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [navigate]);
}

/** Whether key presses go into an input. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/**
 * Moves through a list with `j` and `k`; returns the key of the selected item, which stays selected when items are
 * inserted before it. Its link or button takes the focus, so that `Enter` opens it.
 */
export function useListKeys(keys: readonly string[]): string | undefined {
  const [chosen, setChosen] = useState<string>();
  const place = chosen === undefined ? -1 : keys.indexOf(chosen);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      if (event.key === "j") setChosen(keys[Math.min(keys.length - 1, place + 1)]);
      if (event.key === "k") setChosen(keys[Math.max(0, place - 1)]);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [keys, place]);
  return place < 0 ? undefined : chosen;
}

/** Focuses the selected item of a list, unless the focus is in an input. */
export function focusSelected(element: HTMLElement | null): void {
  if (element && !isTyping(document.activeElement)) element.focus();
}
