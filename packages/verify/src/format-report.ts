import type { Fault, Report } from "./report.ts";

/** A report for a person. The last line is the verdict. */
export function formatReport(report: Report): string {
  const lines = [
    ...report.faults.flatMap(formatFault),
    ...(report.unlisted > 0 ? [`and ${plural(report.unlisted, "more fault")}`] : []),
    ...(report.faults.length > 0 ? [""] : []),
    summary(report),
    logKey(report),
    ...seen(report),
    ...report.remarks.map((remark) => `note: ${remark}`),
    verdict(report),
  ];
  return lines.map(printable).join("\n");
}

function formatFault(fault: Fault): string[] {
  const lines = [`${place(fault)}: ${fault.message} [${fault.code}]`];
  if (fault.expected !== undefined) lines.push(`    expected ${fault.expected}`);
  if (fault.found !== undefined) lines.push(`    found    ${fault.found}`);
  return lines;
}

function place({ seq, cid, line }: Fault): string {
  if (seq !== undefined) return `entry ${seq}${cid === undefined ? "" : ` (${cid.slice(0, 16)})`}`;
  if (cid !== undefined) return `entry ${cid.slice(0, 16)}`;
  return line === undefined ? "ledger" : `line ${line}`;
}

function summary({ entries, checkpoints, signatures, withheld }: Report): string {
  const parts = [
    plural(entries, "entry", "entries"),
    plural(checkpoints, "checkpoint"),
    plural(signatures, "valid signature"),
    `${plural(withheld, "piece")} of private content withheld`,
  ];
  return `checked: ${parts.join(", ")}`;
}

function logKey({ logKey: key, pinned }: Report): string {
  if (key === null) return "log key: none";
  return `log key: ${key} (${pinned ? "as you gave it" : "as the ledger states it"})`;
}

function seen({ seen: { checked, holds, size } }: Report): string[] {
  if (!checked) return [];
  return [
    holds
      ? `seen before: extends the ledger you saw at size ${size}`
      : `seen before: NOT the ledger you saw at size ${size}`,
  ];
}

function verdict({ ok, faults: [first], faults, unlisted }: Report): string {
  if (ok) return "VERIFIED: everything holds";
  const count = plural(faults.length + unlisted, "fault");
  return first === undefined
    ? `NOT VERIFIED: ${count}`
    : `NOT VERIFIED: ${count}, the first at ${place(first)}`;
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

/** Characters that a terminal obeys, or that reorder text, are shown by their code: what is printed comes from strangers. */
function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
