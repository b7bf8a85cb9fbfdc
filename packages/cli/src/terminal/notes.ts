import { readUpdate } from "@reins/acp";
import type { FinishedPart, NoteTone } from "./state.ts";

type Note = Extract<FinishedPart, { kind: "note" }>;

const TONES: Readonly<Record<string, NoteTone>> = { error: "bad", warning: "warn" };

/** The note about an update that is shown as one; undefined for other updates. */
export function noteOf(kind: string, update: unknown): Note | undefined {
  switch (kind) {
    case "notice": {
      const { severity = "", title, description } = readUpdate(kind, update);
      const text = [title, description].filter((part) => part !== undefined).join(": ");
      return note(text, Object.hasOwn(TONES, severity) ? TONES[severity] : "note");
    }
    case "compaction_update": {
      const { status, error } = readUpdate(kind, update);
      if (status === "completed") return note("The conversation was summarized to free context.");
      if (status !== "failed") return undefined;
      return note(`The conversation could not be summarized: ${String(error)}`, "bad");
    }
    case "worker_update": {
      const { workerName, status, metadata } = readUpdate(kind, update);
      const about = metadata.error ?? metadata.summary;
      const text = `${workerName ?? "a sub-agent"}: ${status ?? "?"}${about === undefined ? "" : `, ${about}`}`;
      return note(text, status === "failed" ? "bad" : "note");
    }
    case "tool_search_result": {
      const { promoted } = readUpdate(kind, update);
      return note(promoted.length === 0 ? "found no tools" : `found ${promoted.join(", ")}`);
    }
    default:
      return undefined;
  }
}

const ENDINGS: ReadonlyMap<string, string | undefined> = new Map([
  ["end_turn", undefined],
  ["cancelled", "Cancelled."],
  ["max_tokens", "The model's limit of tokens ended the turn."],
  ["max_turn_requests", "The limit of requests of a turn ended it."],
  ["refusal", "The agent refused."],
]);

/** The note about a turn that did not end as it should. */
export function endingOf(stopReason: string): Note | undefined {
  const text = ENDINGS.has(stopReason) ? ENDINGS.get(stopReason) : `The turn ended with: ${stopReason}`;
  return text === undefined ? undefined : note(text, "warn");
}

function note(text: string, tone: NoteTone = "note"): Note {
  return { kind: "note", tone, text };
}
