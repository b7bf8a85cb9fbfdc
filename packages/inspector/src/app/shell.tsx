import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { Icon, type IconName } from "../design/icons.tsx";
import { classNames } from "../design/layout.tsx";
import { chooseTheme, chosenTheme, type Theme } from "../design/theme.ts";
import { BrokenHistory } from "../proof/comparison-view.tsx";
import { useApprovalStream, usePendingApprovals } from "./approvals.ts";
import { useKeys } from "./keys.ts";
import { useSelf } from "./sign-in.tsx";

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
function useGoKeys(): void {
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

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };

/** The frame of every page: navigation, theme and current user. */
export function Shell() {
  useGoKeys();
  useApprovalStream();
  const pending = usePendingApprovals().data?.length ?? 0;
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2"
      >
        Skip to content
      </a>
      <header className="flex items-center gap-2 border-b border-line bg-surface px-3 py-1.5 md:hidden">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
          className="flex h-8 items-center gap-2 rounded px-2 hover:bg-sunken"
        >
          <Icon name="menu" /> Menu
        </button>
        <span className="font-semibold">Reins</span>
        {pending > 0 && (
          <Link to="/approvals" className="ml-auto flex items-center gap-1.5 text-sm">
            Approvals <Pending count={pending} />
          </Link>
        )}
      </header>
      <nav
        id="navigation"
        aria-label="Pages"
        className={classNames(
          "shrink-0 flex-col gap-0.5 border-line bg-surface p-2 max-md:border-b md:flex md:w-44 md:border-r",
          isOpen ? "flex" : "hidden",
        )}
      >
        <p className="hidden px-2 pt-1 pb-3 font-semibold tracking-tight md:block">Reins</p>
        {DESTINATIONS.map(({ to, label, icon, key }) => (
          <Link
            key={to}
            to={to}
            title={`${label} (g ${key})`}
            activeOptions={{ exact: to === "/" }}
            onClick={() => setOpen(false)}
            className="flex h-8 items-center gap-2.5 rounded px-2 text-sm text-ink-soft hover:bg-sunken hover:text-ink data-[status=active]:bg-sunken data-[status=active]:font-medium data-[status=active]:text-ink"
          >
            <Icon name={icon} /> {label}
            {to === "/approvals" && pending > 0 && (
              <span className="ml-auto">
                <Pending count={pending} />
              </span>
            )}
          </Link>
        ))}
        <div className="mt-auto pt-2">
          <Bottom />
        </div>
      </nav>
      <main id="main" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
        <BrokenHistory />
        <Outlet />
      </main>
    </div>
  );
}

function Pending({ count }: { count: number }) {
  return (
    <span
      role="status"
      aria-label={`${count} pending`}
      className="rounded bg-warn-wash px-1.5 text-2xs font-semibold text-warn tabular-nums"
    >
      {count}
    </span>
  );
}

function Bottom() {
  const { user, tenant } = useSelf();
  const [theme, setTheme] = useState(chosenTheme);
  const choose = () => {
    setTheme(NEXT[theme]);
    chooseTheme(NEXT[theme]);
  };
  return (
    <div className="flex flex-col gap-0.5 text-2xs text-ink-faint">
      <button
        type="button"
        onClick={choose}
        className="flex h-7 items-center gap-2 rounded px-2 text-left hover:bg-sunken hover:text-ink"
      >
        <Icon name="theme" size={14} /> Theme: {theme}
      </button>
      <p className="truncate px-2" title={`tenant ${tenant}`}>
        {user} · {tenant}
      </p>
    </div>
  );
}
