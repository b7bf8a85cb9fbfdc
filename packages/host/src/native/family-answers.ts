import { Advisor } from "@reins/agent";
import type { FamilyAnswers, FamilyAsker, Harness } from "@reins/supervisor";
import { userMemory } from "../memory/user-memory.ts";
import { proseOf } from "./outlook.ts";
import type { NativeSettings } from "./start-native.ts";

/**
 * What agents that speak AHP are answered by default in the typed families: the same as the native agent. Memory is that
 * of the token's user, and of a workspace no more is looked at than its agent may read without anybody being asked.
 */
export function familyAnswers(harness: Harness, settings: NativeSettings = {}): FamilyAnswers {
  const defaultsFor = ({ principal, subject, requestContext }: FamilyAsker) => {
    const mayRead = async (path: string) => {
      const event = {
        event_type: "pre_action",
        session_id: subject.session,
        agent_id: subject.agent,
        depth: subject.depth,
        payload: { tool_name: "read_file", arguments: { path } },
      };
      return (await harness.supervisor.foresee(event, subject, requestContext))?.verdict === "allowed";
    };
    return new Advisor({
      memory: userMemory(harness, principal),
      constitution: () => proseOf(harness, principal.tenant),
      mayRead: () => mayRead,
      ...settings,
    });
  };
  return {
    idle: (payload, asker) => defaultsFor(asker).ask("idle", payload, asker),
    context_perception: (payload, asker) => defaultsFor(asker).ask("context_perception", payload, asker),
    memory_recall: (payload, asker) => defaultsFor(asker).ask("memory_recall", payload, asker),
    planning: (payload, asker) => defaultsFor(asker).ask("planning", payload, asker),
    reasoning: (payload, asker) => defaultsFor(asker).ask("reasoning", payload, asker),
    rate_limit: (payload, asker) => defaultsFor(asker).ask("rate_limit", payload, asker),
    intent_detection: (payload, asker) => defaultsFor(asker).ask("intent_detection", payload, asker),
  };
}
