import { printableLine, table } from "../../printable.ts";
import type { Finding } from "./finding.ts";

const MARKS: Readonly<Record<Finding["state"], string>> = { fine: "ok", note: "note", wrong: "WRONG" };

/** Findings for people: what is the case, and below it what to do. */
export function describeFindings(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ check, state, found, mend }) => [
    [MARKS[state], check, onOneLine(found)],
    ...(mend === undefined ? [] : [["", "", `→ ${onOneLine(mend)}`]]),
  ]);
  const wrong = findings.filter(({ state }) => state === "wrong").length;
  const end =
    wrong === 0 ? "Nothing is wrong." : `${wrong} ${wrong === 1 ? "thing has" : "things have"} to be mended.`;
  return `${table(rows)}\n${end}\n`;
}

function onOneLine(text: string): string {
  return printableLine(text.replace(/\s*\n\s*/g, " "));
}
