import { setTimeout as wait } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@reins/acp";
import { offersBridge, type PermissionReply, readPermissionReply } from "@reins/bridge";
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
  forHosts,
  type OptionKind,
  PERMISSION,
  permissionRequest,
} from "./permission-request.ts";
import type { AskableScope } from "./scope.ts";

/** The response of a client, and its principal. */
export interface ClientAnswer {
  readonly value: unknown;
  readonly by: Principal;
}

/** A client that may be asked. */
interface AskedClient {
  readonly principal: Principal;
  /** The capabilities that it declared. */
  readonly capabilities: JsonObject;
}

/** The request as one client gets it; `undefined` for a client that is not asked. */
export type AskedOf = (client: AskedClient) => JsonObject | undefined;

/** Which clients are asked, and how. */
export interface RequestOptions {
  /** The ids of principals that are not asked because they have answered. */
  readonly without?: ReadonlySet<string>;
  /** The request of each client, where they differ. */
  readonly asked?: AskedOf;
  /** The id of the only client that is asked. */
  readonly only?: string | undefined;
}

/** The clients of a session: any number, which attach and detach. */
export interface Clients {
  /** Notifies all of them, in order. Settles when the next notification may be sent. */
  notify(method: string, params: JsonObject): void | Promise<void>;
  /**
   * Asks them; the first response counts and cancels the request at the others. Waits while no client is attached, and
   * rejects on abort. A permission request needs a choice, or the last response if no client chose. Any other request
   * goes to clients that offer the method, and fails as an unknown one where none does.
   */
  request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    options?: RequestOptions,
  ): Promise<ClientAnswer>;
  /** The id of a client that offers a method; it alone is asked, because the method has an effect there. */
  whoServes?(method: string, params: JsonObject): string | undefined;
  /**
   * Stores the entry of a turn until it is in the ledger, across restarts. Without it, a turn ends when its entry is
   * written.
   */
  concluded?(turn: Draft): void | Promise<void>;
}

/** A session as the governor sees it: only its owner changes and stores the record. */
export interface SessionPort {
  readonly record: SessionRecord;
  readonly clients: Clients;
  /** Has the owner apply what an agent accepted, and store it in one commit with the entry that says so. */
  started(changes: AcceptedChanges, entry: Draft): Promise<void>;
  /** Has the owner store the mode that a client put the agent into. */
  modeSet(mode: string): Promise<void>;
  /** Has the owner write the entry of the session's end in its agent. */
  stopped(entry: Draft): Promise<void>;
}

/** A permission for other arguments than those that were asked about. It is decided once more with them. */
export interface Rewrite {
  readonly arguments: JsonObject;
  readonly by: Principal;
  readonly decision: "allow_once" | "allow_always";
}

/**
 * Puts an approval to the people in front of a session. Settles when one of them has answered, or there is no need to; with
 * the rewritten call where the answer is to that, which leaves the approval open.
 */
export type Offer = (approval: Approval, signal: AbortSignal) => Promise<Rewrite | undefined>;

/** The pause before people are asked again because their answer could not be written. */
const AGAIN_MS = 1_000;

/** The decision on the approval that a choice means. */
const DECISIONS: Readonly<Record<OptionKind, "allow_once" | "allow_always" | "deny">> = {
  allow_once: "allow_once",
  allow_always: "allow_always",
  reject_once: "deny",
  reject_always: "deny",
};

/**
 * Asks the clients of a session for an approval, and answers it with their choice. The request comes from the approval
 * alone: what a person is shown is what the answer counts for.
 */
export function offerApproval(
  session: Pick<AskableScope, "id" | "clients" | "mutationScope" | "descent"> & {
    readonly context: { readonly harness: Pick<Harness, "approvals"> };
  },
  toolCallId: string,
  { about, isRewritable = false }: { readonly about?: AskedAbout; readonly isRewritable?: boolean } = {},
): Offer {
  return async (approval, signal) => {
    const offered = permissionRequest(session.id, toolCallId, approval, about);
    // Each gets the options that they may choose; who may choose none is not asked.
    const asked = ({ principal, capabilities }: AskedClient) => {
      const may = mayAnswer(answererOf(principal), approval).options;
      const options = offered.options.filter(({ kind }) => may.includes(DECISIONS[kind]));
      if (options.length === 0) return undefined;
      return { ...(offersBridge(capabilities) ? forHosts(offered, approval, session) : offered), options };
    };
    const answered = new Set<string>();
    // The first response cancels the request at all clients, though a quorum may need more, or it may not count.
    for (;;) {
      const options = { without: answered, asked };
      const { value, by } = await session.clients.request(PERMISSION, offered, signal, options);
      const reply = readPermissionReply(offered.options, value);
      const rewrite = rewriteIn(reply, by, approval);
      if (rewrite && isRewritable) return rewrite;
      const counted: PermissionReply = rewrite
        ? { kind: "denied", reason: "the arguments of this call cannot be rewritten" }
        : reply;
      const state = await give(session.context.harness, approval, by, counted);
      if (state !== "pending" && state !== "unwritten") return undefined;
      if (state === "pending") answered.add(by.id);
      else await wait(AGAIN_MS, undefined, { signal });
    }
  };
}

/** The rewritten call that a reply permits, if its principal may permit anything here. */
function rewriteIn(reply: PermissionReply, by: Principal, approval: Approval): Rewrite | undefined {
  if (reply.kind !== "granted" || !reply.args) return undefined;
  if (isDeepStrictEqual(reply.args, approval.facts.arguments)) return undefined;
  const { option: decision, args } = reply;
  const isFree = mayAnswer(answererOf(by), approval).options.includes(decision);
  return isFree ? { arguments: args, by, decision } : undefined;
}

/** Answers the approval and returns its state. Clients that chose nothing deny it. */
export async function give(
  { approvals }: Pick<Harness, "approvals">,
  { id }: Pick<Approval, "id">,
  by: Principal,
  reply: PermissionReply,
): Promise<Approval["state"] | "unwritten"> {
  const { tenant } = by;
  const decision: "allow_once" | "allow_always" | "deny" = reply.kind === "granted" ? reply.option : "deny";
  const note =
    reply.kind === "granted" ? undefined : reply.kind === "denied" ? reply.reason : "no option was chosen";
  const given = { ...answererOf(by), decision, ...(note !== undefined && { note }) } as const;
  try {
    return (await approvals.answer(id, given)).state;
  } catch (error) {
    if (!(error instanceof SupervisorError)) return "unwritten";
    // A person who may not answer, or has answered, leaves it to the others.
    return (await approvals.get(id, tenant))?.state ?? "withdrawn";
  }
}

/** How often people were asked on behalf of a signal, and how many of those approvals are open. */
interface AskedFor {
  open: number;
  times: number;
}

const asked = new WeakMap<AbortSignal, AskedFor>();

/** How often people were asked on behalf of a signal, and whether an approval is open. */
export function askedFor(signal: AbortSignal): { readonly times: number; readonly isOpen: boolean } {
  const { times = 0, open = 0 } = asked.get(signal) ?? {};
  return { times, isOpen: open > 0 };
}

interface Asking {
  readonly id: string;
  readonly tenant: string;
  readonly signal: AbortSignal;
  readonly offer: Offer;
}

/** How a question to people ended: by its approval, or by a permission for other arguments. */
export type Answered = Pick<Approval, "state"> | { readonly rewrite: Rewrite };

/** The approval once it is no longer pending, by whichever client or route it was answered. */
export async function awaitAnswer(
  { approvals }: Pick<Harness, "approvals">,
  { id, tenant, signal, offer }: Asking,
): Promise<Answered> {
  const over = Promise.withResolvers<Answered>();
  // An abort may come before it is awaited.
  over.promise.catch(() => undefined);
  const take = (approval: Approval) => {
    if (approval.id === id && approval.state !== "pending") over.resolve(approval);
  };
  const unsubscribe = approvals.subscribe(({ approval }) => take(approval));
  const abort = () => over.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const withdrawn = new AbortController();
  const count = asked.get(signal) ?? { open: 0, times: 0 };
  asked.set(signal, count);
  count.open += 1;
  count.times += 1;
  try {
    const approval = await approvals.get(id, tenant);
    if (approval) take(approval);
    if (approval?.state === "pending")
      offer(approval, AbortSignal.any([signal, withdrawn.signal])).then(
        (rewrite) => rewrite && over.resolve({ rewrite }),
        () => undefined,
      );
    return await over.promise;
  } finally {
    count.open -= 1;
    withdrawn.abort(new Error("the question is answered"));
    unsubscribe();
    signal.removeEventListener("abort", abort);
  }
}
