import { setTimeout as wait } from "node:timers/promises";
import { type JsonObject, membersOf } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import {
  type Approval,
  answererOf,
  type Harness,
  mayAnswer,
  type Principal,
  SupervisorError,
} from "@reins/supervisor";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { AcceptedChanges } from "../sessions/session-state.ts";
import {
  type AskedAbout,
  chosenKind,
  optionsIn,
  PERMISSION,
  permissionRequest,
} from "./permission-request.ts";
import type { Offer } from "./verdict.ts";

/** What a client answered, and who sat in front of it. */
export interface ClientAnswer {
  readonly value: unknown;
  readonly by: Principal;
}

/** A question as one of the clients is asked it; nothing for one who is not. */
export type AskedOf = (client: Principal) => JsonObject | undefined;

/** How clients are asked. */
export interface RequestOptions {
  /** The ids of principals that are not asked, because they have no more to say to it. */
  readonly without?: ReadonlySet<string>;
  /** How each of them is asked, where that is not the same for all. */
  readonly asked?: AskedOf;
  /** The id of the only client that is asked. */
  readonly only?: string | undefined;
}

/** The clients of a session, as the governor sees them: any number, which come and go. */
export interface Clients {
  /** Tells all of them, in order. Settles when the next may be told. */
  notify(method: string, params: JsonObject): void | Promise<void>;
  /**
   * Asks them; the first answer counts, and from the others the question is taken back. While there is nobody it waits.
   * Aborting takes it back from all and rejects. A permission request is answered by a choice, or by the answer of the last
   * of them if all chose nothing. Any other is put only to those that offered to answer it; where none of those that are
   * there did, it fails as a method that is not known.
   */
  request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    options?: RequestOptions,
  ): Promise<ClientAnswer>;
  /** The id of a client that offers to answer a request of an agent, and is asked alone: it has an effect there. */
  whoServes?(method: string, params: JsonObject): string | undefined;
  /**
   * Keeps the entry of a turn until it is in the ledger, whatever becomes of this process. Where nobody can, a turn ends
   * only when its entry is there.
   */
  concluded?(turn: Draft): void | Promise<void>;
}

/** A session as the governor sees it: only its owner changes and stores the record. */
export interface SessionPort {
  readonly record: SessionRecord;
  readonly clients: Clients;
  /** Has the owner apply what an agent accepted, and store it in one commit with the entry that says so. */
  started(changes: AcceptedChanges, entry: Draft): Promise<void>;
}

/** How long it takes until a question is put again whose answer could not be written. */
const AGAIN_MS = 1_000;

/** What a person's choice says to the approval. */
const DECISIONS: Readonly<Record<string, "allow_once" | "allow_always" | "deny" | undefined>> = {
  allow_once: "allow_once",
  allow_always: "allow_always",
  reject_once: "deny",
  reject_always: "deny",
};

/** Where an answer goes. */
export interface OfferContext {
  readonly harness: Pick<Harness, "approvals">;
}

/**
 * Puts a question to the clients of a session as its approval has it, and what they choose to the approval. Nothing of
 * what the agent says goes into it: what a person is shown is what the answer counts for.
 */
export function offerApproval(
  context: OfferContext,
  session: { readonly id: string; readonly clients: Clients },
  toolCallId: string,
  about?: AskedAbout,
): Offer {
  return async (approval, signal) => {
    const offered = permissionRequest(session.id, toolCallId, approval, about);
    // Each is offered what they may answer, and who may not answer is not asked.
    const asked = (client: Principal) => {
      const options = optionsFor(offered, mayAnswer(answererOf(client), approval).options);
      return options.length === 0 ? undefined : { ...offered, options };
    };
    const answered = new Set<string>();
    // The first answer takes the question back from all, though more than one may be needed, or it may not count.
    for (;;) {
      const options = { without: answered, asked };
      const { value, by } = await session.clients.request(PERMISSION, offered, signal, options);
      const state = await give(context, approval, by, chosenKind(optionsIn(offered), value));
      if (state !== "pending" && state !== "unwritten") return;
      if (state === "pending") answered.add(by.id);
      else await wait(AGAIN_MS, undefined, { signal });
    }
  };
}

/** Gives an answer to the approval, and says how that stands then. Clients that chose nothing do not allow it. */
async function give(
  { harness: { approvals } }: OfferContext,
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

/** The options on offer that a person may choose. */
function optionsFor({ options: all }: JsonObject, may: Approval["options"]): unknown[] {
  const options: unknown[] = Array.isArray(all) ? all : [];
  return options.filter((option) => {
    const decision = DECISIONS[String(membersOf(option).kind)];
    return decision === undefined || may.includes(decision);
  });
}
