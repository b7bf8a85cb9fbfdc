import { readFileSync } from "node:fs";
import { Advisor, type DecisionEvents, type DecisionEventType, type OpenedFile } from "@reins/agent";
import { type Memory, StoredMemory } from "@reins/bridge";
import { hasCode } from "@reins/kit";
import type { FamilyAnswers, FamilyAsker, Harness, Principal } from "@reins/supervisor";
import { StandingVerdicts, seeFile } from "../control/standing-verdicts.ts";
import type { NativeSettings } from "./start-native.ts";

/** The events that an operator may have answered by a harness of their own. */
type Family = Exclude<DecisionEventType, "pre_prompt">;

/** What answers the events of each family in place of the defaults; `undefined` where none does. */
export type Advisers = {
  readonly [Type in Family]: (
    payload: DecisionEvents[Type]["payload"],
  ) => Promise<DecisionEvents[Type]["decision"] | undefined>;
};

/** The harnesses that the constitution of a tenant names, for those families that they say they answer. */
export function advisersFrom(harness: Pick<Harness, "advise">, tenant: string): Advisers {
  return {
    intent_detection: (payload) => harness.advise(tenant, "intent_detection", payload),
    context_perception: (payload) => harness.advise(tenant, "context_perception", payload),
    memory_recall: (payload) => harness.advise(tenant, "memory_recall", payload),
    planning: ({ available_strategies, ...payload }) =>
      harness.advise(tenant, "planning", {
        ...payload,
        available_strategies: [...available_strategies],
      }),
    reasoning: (payload) => harness.advise(tenant, "reasoning", payload),
    rate_limit: (payload) => harness.advise(tenant, "rate_limit", payload),
    confirmation: (payload) => harness.advise(tenant, "confirmation", payload),
    idle: (payload) => harness.advise(tenant, "idle", payload),
  };
}

/**
 * What agents that speak AHP are answered by default in the typed families: the same as the native agent. Memory is that
 * of the token's user, and of a workspace no more is looked at than its agent may read without asking a person.
 */
export function familyAnswers(harness: Harness, settings: NativeSettings = {}): FamilyAnswers {
  const standing = new StandingVerdicts(harness);
  const defaultsFor = ({ principal, subject, requestContext }: FamilyAsker) => {
    const mayRead = async (path: string, opened?: OpenedFile) => {
      const event = {
        event_type: "pre_action" as const,
        session_id: subject.session,
        agent_id: subject.agent,
        depth: subject.depth,
        payload: { tool_name: "read_file", arguments: { path } },
      };
      const { state, files } = await seeFile(requestContext.workspace.cwd, path, opened);
      const request = { event, subject, requestContext: { ...requestContext, files } };
      return (await standing.decide(request, state)).isAllowed;
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

/**
 * The constitution of a tenant in words; empty where it has none of its own. Read synchronously, in every turn: it is a
 * small file of the home, and another thread would take longer to be asked.
 */
export function proseOf({ policies }: Pick<Harness, "policies">, tenant: string): string {
  try {
    return readFileSync(policies.filesOf(tenant).prose, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}

/** What the sessions of a principal's user know: the same memory that the native agent recalls from. */
export function userMemory(
  { store, redact }: Pick<Harness, "store" | "redact">,
  principal: Principal,
): Memory {
  const withoutSecrets = (content: string) => String(redact(content));
  return new StoredMemory({ store, owner: memoryOwner(principal), redact: withoutSecrets });
}

/** Whose sessions know the same facts: those of one user of one tenant. No name holds a slash. */
export function memoryOwner({ tenant, user }: Pick<Principal, "tenant" | "user">): string {
  return `${tenant}/${user}`;
}
