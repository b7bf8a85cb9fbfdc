import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { IconName } from "../design/icons.tsx";

/** A place of the page that can be gone to from everywhere, and the key that goes there after `g`. */
interface Destination {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  readonly key: string;
}

/** Every place of the page, in the order in which a day needs them. */
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

/** `g` and a letter go to a place of the page, from anywhere but a field that is written in. */
export function useGoKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let pressed = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      const destination =
        Date.now() - pressed < WITHIN_MS ? DESTINATIONS.find(({ key }) => key === event.key) : undefined;
      pressed = event.key === "g" && !destination ? Date.now() : 0;
      if (!destination) return;
      event.preventDefault();
      void navigate({ to: destination.to });
    };
    // Before everybody else, who leave alone what is prevented: the letter after `g` must do nothing but go.
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [navigate]);
}

/** Whether keys go into a field. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

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
