import type { LedgerReader } from "@reins/ledger";
import type { Example, UnreplayableCounts } from "@reins/policy";
import { pastVerdicts } from "@reins/supervisor";
import { count } from "../../printable.ts";
import { cutPrintable, WIDTH, wrapped } from "./layout.ts";

export async function eachVerdict(
  ledger: Pick<LedgerReader, "read" | "readStored">,
  range: { readonly since: string | undefined; readonly limit: number | undefined },
  take: (entry: string, payload: unknown) => void,
): Promise<void> {
  for await (const { entry } of pastVerdicts(ledger, range)) take(entry.cid, entry.payload);
}

const CID_SHOWN = 12;
const INDENT = 8;

/** A group that is no tool call is named by its event type. */
export function who({
  tool,
  event_type,
  agent,
}: {
  readonly tool: string;
  readonly event_type: string;
  readonly agent: string;
}): string {
  return `${tool === "" ? event_type : tool} by ${agent}`;
}

export function describeExamples(examples: readonly Example[]): string {
  const room = WIDTH - INDENT - CID_SHOWN - 2;
  return examples
    .map(
      ({ entry, what }) => `${" ".repeat(INDENT)}${entry.slice(0, CID_SHOWN)}  ${cutPrintable(what, room)}\n`,
    )
    .join("");
}

export function describeUnreplayable({ no_policy, no_facts, unreadable }: UnreplayableCounts): string {
  const reasons = [
    no_policy > 0 && `${count(no_policy)} from when no policy was loaded`,
    no_facts > 0 && `${count(no_facts)} without facts`,
    unreadable > 0 && `${count(unreadable)} with facts that this version does not understand`,
  ].filter((text) => text !== false);
  return reasons.length === 0 ? "" : wrapped(`Could not be decided again: ${reasons.join(", ")}.`, 0);
}
