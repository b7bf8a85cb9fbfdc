import { isObject } from "@reins/acp";
import { amountOf } from "@reins/kit";
import type { ControlEvent, Origin } from "@reins/supervisor";
import type { Descent, SubjectScope } from "./scope.ts";

/** The limits of a session that another one started, for one action of it. */
interface DelegationLimits {
  /** Why an event exceeds what the session was given. An action of the agent counts against its allowance from then on. */
  readonly bounds: (event: ControlEvent, tool: string) => string | undefined;
  /** Takes an action that was not allowed off the allowance's count. */
  readonly uncount: () => void;
}

/**
 * The limits of a delegated session for one action. What an agent does counts from the moment it is decided, so that no
 * number of actions at once exceeds an allowance.
 */
export function delegationLimits(
  { toolCalls, turn, actions }: Pick<SubjectScope, "toolCalls" | "turn" | "actions">,
  { tools, allowance }: Pick<Descent, "tools" | "allowance">,
  point: { readonly event_type: ControlEvent["event_type"]; readonly origin: Origin },
): DelegationLimits {
  const counted = point.event_type === "pre_action" && point.origin === "agent" ? actions : undefined;
  let isCounted = false;
  const hasRoom = () => {
    if (!counted || isCounted) return true;
    if (counted.count >= allowance.calls) return false;
    isCounted = true;
    counted.count += 1;
    return true;
  };
  return {
    bounds({ event_type, payload }, tool) {
      if (event_type !== "pre_action" && event_type !== "pre_prompt") return undefined;
      if (event_type === "pre_action" && tools && !tools.includes(tool))
        return `the task was given ${tools.join(", ") || "no tools"}, and not ${tool}`;
      if (toolCalls.begun > allowance.calls || !hasRoom())
        return `the task's ${allowance.calls} calls are used up`;
      const reported = isObject(payload) ? payload.tokens_used : undefined;
      const tokens = Math.max(amountOf(reported) ?? 0, turn?.tokens ?? 0);
      return tokens > allowance.tokens ? `the task's ${allowance.tokens} tokens are used up` : undefined;
    },
    uncount() {
      if (counted && isCounted) counted.count -= 1;
      isCounted = false;
    },
  };
}
