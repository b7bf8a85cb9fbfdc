import { stripVTControlCharacters, styleText } from "node:util";
import type { LedgerEntry } from "@reins/ledger";
import { printableLine } from "../../../printable.ts";
import { gistOf } from "./gist.ts";

/** How lines are written. */
interface LineStyle {
  readonly color: boolean;
  /** Columns to stay within; without it nothing is cut but what is very long. */
  readonly width: number | undefined;
}

const QUALITY_WIDTH = "session_lifecycle".length;
const NAME_WIDTH = 16;
const CID_SHOWN = 12;
const LONGEST_GIST = 400;

/** One entry on one line: when, what, who, about what, its name, and what it says. */
export function lineOf(entry: LedgerEntry, { color, width }: LineStyle): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(format, text, { validateStream: false }) : text;
  const columns = [
    paint("dim", entry.timestamp),
    paint(isStop(entry) ? "red" : "cyan", entry.quality.padEnd(QUALITY_WIDTH)),
    fitted(entry.actor),
    fitted(entry.target),
    paint("dim", entry.cid.slice(0, CID_SHOWN)),
  ].join("  ");
  const room = width === undefined ? LONGEST_GIST : width - stripVTControlCharacters(columns).length - 2;
  return `${columns}  ${cut(printableLine(gistOf(entry)), Math.max(room, 1))}`;
}

/** Whether somebody was stopped. */
function isStop({ quality, payload }: LedgerEntry): boolean {
  if (quality === "kill") return true;
  return (
    typeof payload === "object" && payload !== null && "verdict" in payload && payload.verdict === "blocked"
  );
}

function fitted(text: string): string {
  return cut(printableLine(text), NAME_WIDTH).padEnd(NAME_WIDTH);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
