import { setTimeout as wait } from "node:timers/promises";
import {
  type Approval,
  answererOf,
  type Harness,
  mayAnswer,
  type Principal,
  SupervisorError,
} from "@reins/supervisor";
import { type JsonObject, membersOf } from "../acp/message.ts";
import type { Clients } from "./clients.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import type { Offer } from "./judge.ts";
import { chosenKind, optionsIn, PERMISSION } from "./permission-options.ts";

/** How long it takes until a question is put again whose answer could not be written. */
const AGAIN_MS = 1_000;

/** What a person's choice says to the approval. */
const DECISIONS: Readonly<Record<string, "allow_once" | "allow_always" | "deny" | undefined>> = {
  allow_once: "allow_once",
  allow_always: "allow_always",
  reject_once: "deny",
  reject_always: "deny",
};

/** What an offer needs: whoever is asked, and where the answer goes. */
export interface OfferContext<Session> {
  readonly harness: Pick<Harness, "approvals">;
  readonly clients: (session: Session) => Clients;
}

/** Puts a question to the clients of a session as the agent asked it, and what they choose to the approval. */
export function offerRequest<Session extends { readonly id: string }>(
  context: OfferContext<Session>,
  session: Session,
  params: JsonObject,
): Offer {
  return async (approval, signal) => {
    const offered = {
      ...params,
      sessionId: session.id,
      options: offeredOptions(params, approval),
      _meta: metaOf(params, approval),
    };
    // Each is offered what they may answer, and who may not answer is not asked.
    const asked = (client: Principal) => {
      const options = optionsFor(offered, mayAnswer(answererOf(client), approval).options);
      return options.length === 0 ? undefined : { ...offered, options };
    };
    const answered = new Set<string>();
    // The first answer takes the question back from all, though more than one may be needed, or it may not count.
    for (;;) {
      const options = { without: answered, asked };
      const { value, by } = await context.clients(session).request(PERMISSION, offered, signal, options);
      const state = await give(context, approval, by, chosenKind(optionsIn(offered), value));
      if (state !== "pending" && state !== "unwritten") return;
      if (state === "pending") answered.add(by.id);
      else await wait(AGAIN_MS, undefined, { signal });
    }
  };
}

/** Gives an answer to the approval, and says how that stands then. Clients that chose nothing do not allow it. */
async function give(
  { harness: { approvals } }: Pick<OfferContext<never>, "harness">,
  { id }: Approval,
  by: Principal,
  kind: string | undefined,
): Promise<Approval["state"] | "unwritten"> {
  const { tenant } = by;
  const decision = DECISIONS[kind ?? ""] ?? "deny";
  const note = kind === undefined ? { note: "no option was chosen" } : {};
  const given = { ...answererOf(by), decision, ...note };
  try {
    return (await approvals.answer(id, given)).state;
  } catch (error) {
    if (!(error instanceof SupervisorError)) return "unwritten";
    // An answer of a person who may not give one, or has given it, leaves the question to the others.
    return (await approvals.get(id, tenant))?.state ?? "withdrawn";
  }
}

/** Puts a question about something that the agent did not ask permission for to the clients, as if it had. */
export function offerAsPermission(
  context: GovernorContext,
  session: GovernedSession,
  tool: string,
  rawInput: unknown,
): Offer {
  // Made when it is put to somebody, which hardly any is; asked once more it is the same question.
  let offer: Offer | undefined;
  return (approval, signal) => {
    const toolCallId = `reins-${context.newId()}`;
    const toolCall = { toolCallId, title: tool, name: tool, kind: "other", status: "pending", rawInput };
    offer ??= offerRequest(context, session, { toolCall, options: OPTIONS });
    return offer(approval, signal);
  };
}

const OPTIONS = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_always", name: "Always allow this", kind: "allow_always" },
  { optionId: "reject_once", name: "Do not allow", kind: "reject_once" },
];

/** The options on offer that a person may choose. */
function optionsFor({ options }: { readonly options: unknown[] }, may: Approval["options"]): unknown[] {
  return options.filter((option) => {
    const decision = DECISIONS[String(membersOf(option).kind)];
    return decision === undefined || may.includes(decision);
  });
}

/** The agent's options as far as the approval takes them: an "always" becomes a grant of ours, or is not on offer. */
function offeredOptions({ options }: JsonObject, approval: Approval): unknown[] {
  const offered: unknown[] = Array.isArray(options) ? options : [];
  if (approval.options.includes("allow_always")) return offered;
  return offered.filter((option) => membersOf(option).kind !== "allow_always");
}

function metaOf({ _meta }: JsonObject, { id, rule, reason, expires_at }: Approval): JsonObject {
  return { ...membersOf(_meta), reins: { approval: id, rule: rule ?? null, reason, expires_at } };
}
