import type { AnnouncedKey, Sessions } from "@reins/ledger";
import { printableLine } from "../../../printable.ts";

/** What there is to know about a ledger at a glance. */
export interface Summary {
  readonly home: string;
  readonly origin: string;
  readonly log_key: string;
  readonly size: number;
  /** When the newest entry was made. */
  readonly newest: string | null;
  readonly checkpoint: { readonly size: number; readonly root: string; readonly note: string };
  readonly sessions: Sessions;
  readonly keys: readonly AnnouncedKey[];
}

/** A summary for people. */
export function describeSummary(summary: Summary): string {
  const { origin, home, log_key, size, newest, checkpoint, sessions, keys } = summary;
  const uncovered = size - checkpoint.size;
  const rows: [string, string][] = [
    ["ledger", origin],
    ["home", home],
    ["log key", log_key],
    ["entries", `${count(size)}${newest === null ? "" : `, the newest of ${newest}`}`],
    [
      "checkpoint",
      uncovered > 0 ? `${count(checkpoint.size)} entries; ${uncovered} wait for the next` : "covers them all",
    ],
    ["root", checkpoint.root],
    ["sessions", count(sessions.count)],
    ...sessions.recent.map(({ entity_id, timestamp }): [string, string] => [
      "",
      `${timestamp}  ${entity_id}`,
    ]),
    ["keys", keysOf(keys)],
  ];
  return rows.map(([name, text]) => `${name.padEnd(12)}${printableLine(text)}\n`).join("");
}

function keysOf(keys: readonly AnnouncedKey[]): string {
  const active = keys.filter(({ retired_at }) => retired_at === null);
  const holders = [...new Set(active.map(({ holder }) => holder))];
  const retired = keys.length - active.length;
  return `${holders.join(", ")}${retired > 0 ? `; ${retired} retired` : ""}`;
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}
