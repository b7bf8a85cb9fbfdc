import { RequestError } from "@agentclientprotocol/sdk";
import { type AcpToolCall, membersOf, readParams, reinsMeta } from "@reins/acp";

/** What an agent wants to do, and the answers that are offered. */
export interface PermissionRequest {
  readonly sessionId: string;
  readonly call: AcpToolCall;
  readonly options: readonly {
    readonly optionId: string;
    readonly name: string;
    readonly kind: string | undefined;
  }[];
  /** The id of the approval, which other people may answer, too. */
  readonly approval: string | undefined;
  /** Why the policy asks. */
  readonly reason: string | undefined;
  /** Aborts when the question is settled elsewhere or the turn ends. */
  readonly signal: AbortSignal;
}

/** An answer by its kind, or by the id of an option. Without one, the question stays open for others. */
export type PermissionAnswer = "allow" | "allow_always" | "deny" | { readonly optionId: string } | undefined;

/** Answers the permission requests of agents. */
export type PermissionHandler = (request: PermissionRequest) => PermissionAnswer | Promise<PermissionAnswer>;

/** A form or an address that an agent asks a person for. */
export interface ElicitationRequest {
  readonly sessionId: string | undefined;
  readonly message: string;
  /** The JSON schema of a form. */
  readonly schema: unknown;
  /** The address to open. */
  readonly url: string | undefined;
  readonly signal: AbortSignal;
}

/** The content of a form, or no content. Without an answer, the question stays open for others. */
export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content?: Readonly<Record<string, unknown>> }
  | { readonly action: "decline" | "cancel" }
  | undefined;

/** Answers the forms of agents. */
export type ElicitationHandler = (
  request: ElicitationRequest,
) => ElicitationAnswer | Promise<ElicitationAnswer>;

/** Who answers the questions of agents. A question without a handler waits for an answer from elsewhere. */
export interface QuestionHandlers {
  readonly onPermission?: PermissionHandler | undefined;
  readonly onElicitation?: ElicitationHandler | undefined;
}

const KINDS = { allow: "allow_once", allow_always: "allow_always", deny: "reject_once" } as const;

/** Answers a permission request with the handler. */
export async function permissionOutcome(
  handler: PermissionHandler | undefined,
  params: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { sessionId = "", toolCall, options } = readParams("session/request_permission", params);
  const offered = options.flatMap(({ optionId, name, kind }) =>
    optionId === undefined || name === undefined ? [] : [{ optionId, name, kind }],
  );
  const { approval, reason } = reinsMeta(params);
  const answer = await handler?.({ sessionId, call: toolCall, options: offered, approval, reason, signal });
  if (answer === undefined) return aborted(signal, { outcome: { outcome: "cancelled" } });
  const chosen = typeof answer === "object" ? answer : offered.find(({ kind }) => kind === KINDS[answer]);
  if (!chosen) throw RequestError.invalidRequest(undefined, "no such answer is offered");
  return { outcome: { outcome: "selected", optionId: chosen.optionId } };
}

/** Answers a form with the handler. */
export async function elicitationOutcome(
  handler: ElicitationHandler | undefined,
  params: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { message = "", requestedSchema: schema, url } = readParams("elicitation/create", params);
  const { sessionId } = membersOf(params);
  const request = { message, schema, url, signal };
  const answer = await handler?.({
    ...request,
    sessionId: typeof sessionId === "string" ? sessionId : undefined,
  });
  return answer ?? aborted(signal, { action: "cancel" });
}

/** Waits until another client or the end of the turn settles the question. */
function aborted<T>(signal: AbortSignal, result: T): Promise<T> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(result);
    else signal.addEventListener("abort", () => resolve(result), { once: true });
  });
}
