import type { Draft } from "@reins/ledger";
import type { Subject } from "@reins/policy";
import type { OpenCall } from "../decision/observer.ts";
import { sessionKey } from "./record.ts";

/** The mark of an action that no verdict came before. */
export const UNGATED = "ungated";

/** The entry for the begin or end of a session, with what was under way when it ended. */
export function lifecycleDraft(
  subject: Subject,
  change: string,
  unfinished: readonly OpenCall[] = [],
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  return {
    quality: "session_lifecycle",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [change],
    payload: {
      change,
      subject: { ...subject },
      ...(unfinished.length > 0 && {
        unfinished: unfinished.map(({ entry, tool }) => ({ verdict: entry, tool, outcome: "unknown" })),
      }),
    },
  };
}

/** The entry for what came of an action; without an allowed call it is marked as ungated. */
export function resultDraft(
  subject: Subject,
  { tool, outcome }: { readonly tool?: string | undefined; readonly outcome: string },
  call: OpenCall | undefined,
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  const name = tool ?? call?.tool ?? "unknown";
  return {
    quality: "tool_result",
    actor: subject.agent,
    target: name,
    entity_id: sessionKey(subject),
    tags: [outcome, ...(call ? [] : [UNGATED])],
    payload: {
      tool: name,
      outcome,
      verdict: call?.entry ?? null,
      enforcement: call ? subject.enforcement : "observed",
    },
  };
}
