import { exactJson } from "@reins/ledger";
import { type Action, type Effect, tellingArguments } from "@reins/policy";
import type { Approval } from "./approval.ts";
import { type Keyed, peopleNeeded } from "./binding.ts";
import type { ApprovalRequest } from "./request.ts";

/** What an "always" is given for: an approval, or a request before it is one. */
export type Grantable = Pick<
  Approval,
  "tenant" | "user" | "agent" | "chain" | "enforcement" | "event_type" | "facts" | "cwd"
> &
  Pick<ApprovalRequest, "quorum" | "approvers" | "four_eyes" | "input_state" | "command">;

/**
 * What a grant counts for: the same agent of the same user, reached the same way and held as firmly, doing exactly the
 * same in the same folder with the same content of what is run or sent, in any session, by the word of the same people.
 * Where effects do not say all, the arguments count too.
 */
export function grantBindingOf(grantable: Grantable, keyed: Keyed): string {
  const { tenant, user, agent, chain, enforcement, event_type, facts, cwd, input_state = {} } = grantable;
  const { tool, effects, opaque, doubts } = facts;
  const who = { tenant, user, agent, chain, enforcement };
  const what = { event_type, tool, effects, opaque, doubts, cwd };
  const rest = saysAll(facts) && !runsOn(facts) ? {} : { arguments: tellingArguments(facts) };
  const inputs = Object.keys(input_state).length > 0 ? { input_state } : {};
  return keyed.digest(
    "grant",
    exactJson({ ...who, ...what, ...rest, ...inputs, ...peopleNeeded(grantable) }),
  );
}

/** Whether "always" can be narrow. What is only known when it runs may be something else the next time. */
export function isGrantable({ effects }: Action): boolean {
  return !effects.some(isOpenEnded);
}

/** Whether the effects of an action say all it does, so that its arguments may differ. */
export function saysAll({ effects, opaque, doubts }: Action): boolean {
  return !opaque && doubts.length === 0 && effects.length > 0 && !effects.some(isVague);
}

/** Whether a command, or a part of one, is left running: its effects are the same, and yet it is not. */
function runsOn({ effects, arguments: given }: Action): boolean {
  if (!effects.some(({ kind }) => kind === "exec") || typeof given !== "object" || given === null)
    return false;
  return Object.values(given).some((value) => typeof value === "string" && /(?<![&>])&(?![&>])/.test(value));
}

function isOpenEnded(effect: Effect): boolean {
  if (effect.kind === "exec") return effect.arguments.includes(null);
  return (effect.kind === "read" || effect.kind === "write") && effect.place === "unknown";
}

function isVague(effect: Effect): boolean {
  if (effect.kind === "exec") return effect.opaque;
  return effect.kind === "net" && effect.host === "*";
}
