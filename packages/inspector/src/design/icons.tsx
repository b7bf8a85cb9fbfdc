import type { ReactNode } from "react";

const PATHS = {
  overview: "M3 13h4v5H3zM8.5 8h4v10h-4zM14 3h4v15h-4z",
  sessions: "M3 4h14v10H9l-4 4v-4H3z",
  approvals: "M4 10.5l4 4L17 5.5",
  policy: "M10 2l7 3v5c0 4-3 7-7 8-4-1-7-4-7-8V5z",
  ledger: "M5 3h10v14H5zM7.5 7h5M7.5 10h5M7.5 13h3",
  agents: "M6 8h8v7H6zM10 8V4M7 12h.01M13 12h.01M3 11v3M17 11v3",
  skills: "M4 4.5c2-1.2 4.5-1.2 6 0 1.5-1.2 4-1.2 6 0v11c-2-1.2-4.5-1.2-6 0-1.5-1.2-4-1.2-6 0zM10 4.5v11",
  wire: "M2 10h4l2-6 4 12 2-6h4",
  theme: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  menu: "M3 5h14M3 10h14M3 15h14",
  stop: "M5 5h10v10H5z",
  send: "M3 10l14-7-4 14-3-6z",
  close: "M5 5l10 10M15 5L5 15",
  fork: "M6 3v14M14 3v2c0 4-8 3-8 8",
  tool: "M16.5 5.5l-3 3-2-2 3-3a4.5 4.5 0 0 0-6 6l-5.5 5.5 2 2 5.5-5.5a4.5 4.5 0 0 0 6-6z",
  runtime: "M10 3a7 7 0 1 0 .01 0zM10 6v4l3 2",
  human: "M10 3a3.5 3.5 0 1 0 .01 0zM3.5 17.5c0-3.5 2.8-5.5 6.5-5.5s6.5 2 6.5 5.5",
  pipeline: "M2 7h4v6H2zM14 7h4v6h-4zM6 10h8M11.5 7.5L14 10l-2.5 2.5",
  service: "M10 3a7 7 0 1 0 .01 0zM3 10h14M10 3c-4 4-4 10 0 14M10 3c4 4 4 10 0 14",
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon; hidden from screen readers. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }): ReactNode {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      className="shrink-0"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
