import type { IconName } from "../design/icons.tsx";

/** A place of the page that can be gone to from everywhere, and the key that goes there after `g`. */
export interface Destination {
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
