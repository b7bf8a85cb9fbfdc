import type { JsonObject } from "@reins/acp";

/** What happens in a turn, as `/ws` tells it: HAAK's types, and those of its own that others pass over. */
export type HaakEvent =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "reasoning_delta"; readonly text: string }
  | { readonly type: "tool_call"; readonly id: string; readonly name: string; readonly input: unknown }
  | ({ readonly type: "tool_call_update"; readonly id: string } & JsonObject)
  | {
      readonly type: "tool_result";
      readonly id: string;
      readonly content: string;
      readonly is_error: boolean;
    }
  | ({ readonly type: "usage_update" } & JsonObject)
  | PolicyGateEvent
  | {
      readonly type: "mailbox_injected";
      readonly message_id: string;
      readonly from: string;
      readonly subject: string;
      readonly timestamp: string;
    }
  | { readonly type: "ledger_append"; readonly cid: string; readonly quality: string }
  | { readonly type: "done"; readonly stop_reason: string; readonly usage: JsonObject }
  | { readonly type: "error"; readonly code: string; readonly message: string };

/** What the policy said to a tool: when it was offered, or when it was called. */
interface PolicyGateEvent {
  readonly type: "policy_gate";
  readonly tool: string;
  readonly verdict: string;
  readonly rule: string | null;
  readonly reason: string;
  readonly constitution_hash: string | null;
}

/** An event at its place: `seq` grows with every event of a session. */
export type NumberedEvent = HaakEvent & { readonly seq: number };

/** Takes events. A promise says that there is no room for more until it settles. */
export type Emit = (event: NumberedEvent) => void | Promise<void>;
