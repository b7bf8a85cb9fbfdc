import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import type { IconName } from "../design/icons.tsx";
import { useKeys } from "./keys.ts";

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
  { to: "/skills", label: "Skills", icon: "skills", key: "k" },
  { to: "/tools", label: "Tools", icon: "tool", key: "t" },
  { to: "/wire", label: "Wire", icon: "wire", key: "w" },
];

const WITHIN_MS = 1_500;

/** The destination of a key that follows `g`, which was pressed at `before`; times in milliseconds. */
export function destinationOf(key: string, before: number, now: number): Destination | undefined {
  return now - before < WITHIN_MS ? DESTINATIONS.find((one) => one.key === key) : undefined;
}

/** Opens a page with `g` and a letter, unless the focus is in an input. */
export function useGoKeys(): void {
  const navigate = useNavigate();
  const pressed = useRef(0);
  // Runs before other handlers, which skip a prevented event: the letter after `g` only navigates.
  useKeys(
    (event) => {
      const destination = destinationOf(event.key, pressed.current, Date.now());
      pressed.current = event.key === "g" && !destination ? Date.now() : 0;
      if (!destination) return;
      event.preventDefault();
      void navigate({ to: destination.to });
    },
    { capture: true },
  );
}
