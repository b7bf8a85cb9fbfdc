import { stripVTControlCharacters, styleText } from "node:util";
import { isRecord } from "@reins/kit";
import type { LedgerEntry } from "@reins/ledger";
import { cut, printableLine } from "../../printable.ts";

interface LineStyle {
  readonly color: boolean;
  /** Undefined cuts only very long texts. */
  readonly width: number | undefined;
}

const QUALITY_WIDTH = "session_lifecycle".length;
const NAME_WIDTH = 16;
const CID_SHOWN = 12;
const MAX_SUMMARY = 400;

export function entryLine(entry: LedgerEntry, { color, width }: LineStyle): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(format, text, { validateStream: false }) : text;
  const columns = [
    paint("dim", entry.timestamp),
    paint(isStop(entry) ? "red" : "cyan", entry.quality.padEnd(QUALITY_WIDTH)),
    fitted(entry.actor),
    fitted(entry.target),
    paint("dim", entry.cid.slice(0, CID_SHOWN)),
  ].join("  ");
  const room = width === undefined ? MAX_SUMMARY : width - stripVTControlCharacters(columns).length - 2;
  return `${columns}  ${cut(printableLine(entrySummary(entry)), Math.max(room, 1))}`;
}

function isStop({ quality, payload }: LedgerEntry): boolean {
  if (quality === "kill") return true;
  return (
    typeof payload === "object" && payload !== null && "verdict" in payload && payload.verdict === "blocked"
  );
}

function fitted(text: string): string {
  return cut(printableLine(text), NAME_WIDTH).padEnd(NAME_WIDTH);
}

/** Summarizes an entry. Names private and sealed content without showing it. */
export function entrySummary({
  quality,
  payload,
  envelope,
}: Pick<LedgerEntry, "quality" | "payload" | "envelope">): string {
  if (envelope) return `sealed for ${envelope.audience_label}`;
  if (!isRecord(payload)) return brief(payload);
  return KNOWN[quality]?.(payload) ?? brief(payload);
}

type Payload = Readonly<Record<string, unknown>>;

/** Summaries by quality; undefined for a payload of an unknown form. */
const KNOWN: Partial<Record<LedgerEntry["quality"], (payload: Payload) => string | undefined>> = {
  policy_verdict: verdictSummary,
  policy_change: changeSummary,
  session_lifecycle: lifecycleSummary,
  approval: approvalSummary,
  turn: turnSummary,
  tool_result: resultSummary,
  kill: killSummary,
};

function verdictSummary({ verdict, reason, event_type }: Payload): string | undefined {
  if (typeof verdict !== "string") return undefined;
  return `${verdict}${before(" ", event_type)}${before(": ", reason)}`;
}

function changeSummary(payload: Payload): string {
  const { change, key_id, holder, agent } = payload;
  if (typeof change !== "string") return brief(payload);
  if (typeof key_id === "string") return `${change} ${key_id}${before(" of ", holder)}`;
  if (change === "constitution") return `${change}, ${String(payload.rules)} rules`;
  return typeof agent === "string" ? `${change} ${agent}` : leading(payload, "change");
}

function lifecycleSummary(payload: Payload): string {
  const { change, cwd } = payload;
  return typeof change === "string" ? `${change}${before(" in ", cwd)}` : leading(payload, "event");
}

function approvalSummary({ state, approval, agent, tool, answer, reason }: Payload): string | undefined {
  if (typeof state !== "string" || typeof approval !== "string") return undefined;
  const asks = typeof agent === "string" ? `: ${agent} asks for ${String(tool)}` : "";
  const said = isRecord(answer) ? `: ${String(answer.by)} said ${String(answer.decision)}` : "";
  return `${state} ${approval}${asks}${said}${before(asks === "" ? ": " : ", ", reason)}`;
}

function turnSummary({ stop_reason, usage }: Payload): string | undefined {
  if (typeof stop_reason !== "string") return undefined;
  const tokens = isRecord(usage) ? usage.tokens : undefined;
  return typeof tokens === "number" ? `${stop_reason}, ${tokens} tokens` : stop_reason;
}

function resultSummary({ outcome, enforcement }: Payload): string | undefined {
  return typeof outcome === "string" ? `${outcome}${before(", ", enforcement)}` : undefined;
}

function killSummary({ target, gone, left, reason }: Payload): string | undefined {
  if (!isRecord(target) || !Array.isArray(gone) || !Array.isArray(left)) return undefined;
  const what = `${String(target.kind)}${before(" ", target.name)}`;
  return `${what}: ${gone.length} processes gone, ${left.length} left${before(": ", reason)}`;
}

function before(start: string, text: unknown): string {
  return typeof text === "string" && text !== "" ? `${start}${text}` : "";
}

function leading(payload: Payload, name: string): string {
  const { [name]: first, ...rest } = payload;
  if (typeof first !== "string") return brief(payload);
  return Object.keys(rest).length > 0 ? `${first} ${brief(rest)}` : first;
}

function brief(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (!isRecord(member) || !isRecord(member.$private)) return member;
    return `[private, ${String(member.$private.size)} bytes]`;
  });
}
