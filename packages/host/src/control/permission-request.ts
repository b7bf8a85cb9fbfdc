import { isObject, type JsonObject, metaOf, readParams, reinsMeta } from "@reins/acp";
import { readPermissionReply } from "@reins/bridge";
import { visibleJson, visibleText } from "@reins/kit";
import type { Approval } from "@reins/supervisor";
import type { SubjectScope } from "./scope.ts";

/** By which an agent asks for a permission. */
export const PERMISSION = "session/request_permission";

/** The kinds of answers that ACP knows. */
export type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

/** One answer that an agent takes. */
export interface PermissionOption {
  readonly optionId: string;
  readonly kind: string;
}

/** An answer to a permission request. */
export type PermissionOutcome =
  | { readonly outcome: { readonly outcome: "selected"; readonly optionId: string } }
  | { readonly outcome: { readonly outcome: "cancelled" } };

export const CANCELLED: PermissionOutcome = { outcome: { outcome: "cancelled" } };

/** The options of a permission request. */
export function optionsIn(params: unknown): readonly PermissionOption[] {
  return readParams(PERMISSION, params).options.flatMap(({ optionId, kind }) =>
    optionId !== undefined && kind !== undefined ? [{ optionId, kind }] : [],
  );
}

/** The answer of a kind, if the agent takes one; never by its id, which says nothing. */
export function outcomeOf(
  options: readonly PermissionOption[],
  ...kinds: readonly OptionKind[]
): PermissionOutcome | undefined {
  for (const kind of kinds) {
    const option = options.find((one) => one.kind === kind);
    if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
  }
  return undefined;
}

/** What an answer to a permission request is: a choice, a cancel, no choice at all, or one that was never offered. */
export function readChoice(
  params: unknown,
  answer: unknown,
): "chosen" | "cancelled" | "nothing" | "not_offered" {
  const { kind } = readPermissionReply(optionsIn(params), answer);
  return kind === "granted" || kind === "denied" ? "chosen" : kind;
}

/** What a question is about where the approval itself has no tool call to show: a prompt, for one. */
export interface AskedAbout {
  readonly tool: string;
  readonly rawInput: unknown;
}

const LONGEST_TITLE = 300;

const OPTIONS = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once", decision: "allow_once" },
  { optionId: "allow_always", name: "Always allow this", kind: "allow_always", decision: "allow_always" },
  { optionId: "reject_once", name: "Reject", kind: "reject_once", decision: "deny" },
] as const;

/** A permission request of Reins itself. */
interface PermissionRequest extends JsonObject {
  readonly options: readonly {
    readonly optionId: string;
    readonly name: string;
    readonly kind: OptionKind;
  }[];
}

/**
 * The permission request that clients are sent for an approval. All of it comes from the approval, which is what an
 * answer counts for; of what the agent says there is only the id of its call, so that clients find the card.
 */
export function permissionRequest(
  sessionId: string,
  toolCallId: string,
  approval: Approval,
  subject?: AskedAbout,
): PermissionRequest {
  const { id, rule, reason, expires_at, facts } = approval;
  const { opaque, doubts } = facts;
  const isToolCall = facts.tool !== "" || subject === undefined;
  const tool = isToolCall ? approval.tool : subject.tool;
  const rawInput = isToolCall ? facts.arguments : subject.rawInput;
  const locations = pathsIn(approval).map((path) => ({ path }));
  return withWords({
    sessionId,
    toolCall: {
      toolCallId,
      name: tool,
      kind: kindOf(approval),
      status: "pending",
      ...(rawInput !== undefined && { rawInput }),
      locations,
    },
    options: OPTIONS.filter(
      ({ decision }) =>
        approval.options.includes(decision) && (decision === "deny" || approval.unreadable === undefined),
    ).map(({ decision, ...option }) => option),
    _meta: { reins: { approval: id, rule: rule ?? null, reason, expires_at, opaque, doubts } },
  });
}

/**
 * The same request for a host of the bridge, which reads more of it: the call by its tool, what the session may change,
 * the paths that are concerned, and the approval with its evidence and deadline.
 */
export function forHosts(
  request: PermissionRequest,
  approval: Approval,
  { mutationScope, descent }: Pick<SubjectScope, "mutationScope" | "descent">,
): PermissionRequest {
  const { facts, tool, session, turn = null } = approval;
  const toolCall = isObject(request.toolCall) ? request.toolCall : {};
  const action = String(toolCall.name ?? tool);
  const paths = pathsIn(approval);
  return {
    ...request,
    toolCall: { ...toolCall, toolName: action },
    mutation: {
      session_id: session,
      parent_session_id: descent?.parent ?? null,
      run_id: turn,
      worker_id: descent?.worker ?? null,
      mutation_scope: mutationScope ?? "apply_workspace",
      approval_policy: { require_approval: [action] },
    },
    declaredPaths: paths,
    approvalRequest: {
      id: approval.id,
      action,
      args: toolCall.rawInput ?? null,
      principal: descent?.worker ?? session,
      requested_at: approval.created_at,
      deadline: approval.expires_at,
      approvers_required: approval.quorum,
      evidence_refs: paths.map((ref) => ({ kind: "workspace_path", ref, metadata: metadataOf(ref, facts) })),
      undo_metadata: null,
      capabilities_requested: [`tool.${action}`],
    },
  };
}

/** What an action does with a path, and where that lies. */
function metadataOf(path: string, { effects }: Approval["facts"]): JsonObject {
  const own = effects.flatMap((effect) => ("path" in effect && effect.path === path ? [effect] : []));
  return { effects: own.map(({ kind }) => kind), place: own[0]?.place ?? "unknown" };
}

/**
 * A question as it is kept. Its words are made anew from what is left of what they were made from: a secret that is
 * written out in them, or a part of one in what was found out, would not be known for one.
 */
export function redactedQuestion(params: JsonObject, redact: (value: unknown) => unknown): unknown {
  if (reinsMeta(params).approval === undefined) return redact(params);
  const { title, content, locations, ...toolCall } = isObject(params.toolCall) ? params.toolCall : {};
  const { doubts, ...reins } = reinsOf(params);
  const kept = redact({ ...params, toolCall, _meta: { reins } });
  return isObject(kept) ? withWords(kept) : kept;
}

function reinsOf(params: JsonObject): JsonObject {
  const { reins } = metaOf(params);
  return isObject(reins) ? reins : {};
}

/** The question with its title and text. */
function withWords<Params extends JsonObject>(params: Params): Params {
  const toolCall = isObject(params.toolCall) ? params.toolCall : {};
  const { name, rawInput } = toolCall;
  const title = titleOf(String(name), rawInput);
  const text = textOf(rawInput, reinsOf(params));
  const content = [{ type: "content", content: { type: "text", text } }];
  return { ...params, toolCall: { ...toolCall, title, content } };
}

/** One line that names the tool and what it is given, with hidden characters written out. */
function titleOf(tool: string, rawInput: unknown): string {
  const text = `${visibleText(tool)}${inputText(rawInput)}`;
  const more = text.length - LONGEST_TITLE;
  return more > 0 ? `${text.slice(0, LONGEST_TITLE)}… (${more} more characters)` : text;
}

/** A command or a path alone is shown as it is; whatever else there is, all of it. */
function inputText(rawInput: unknown): string {
  if (rawInput === undefined || rawInput === null) return "";
  if (typeof rawInput === "object" && !Array.isArray(rawInput)) {
    const [only, ...others] = Object.values(rawInput);
    if (only === undefined) return "";
    if (others.length === 0 && typeof only === "string") return `: ${visibleText(only)}`;
  }
  return `: ${visibleText(typeof rawInput === "string" ? rawInput : JSON.stringify(rawInput))}`;
}

function kindOf({ facts: { effects } }: Approval): string {
  const kinds = new Set(effects.map(({ kind }) => kind));
  if (kinds.has("exec")) return "execute";
  if (kinds.has("write")) return "edit";
  if (kinds.has("net")) return "fetch";
  return kinds.has("read") ? "read" : "other";
}

function pathsIn({ facts: { effects } }: Approval): readonly string[] {
  return [...new Set(effects.flatMap((effect) => ("path" in effect ? [effect.path] : [])))];
}

/** What it is given, exactly; what was not found out about it, and why a person is asked. */
function textOf(rawInput: unknown, { opaque, doubts, reason }: JsonObject): string {
  return [
    ...(rawInput === undefined ? [] : [`With: ${visibleJson(rawInput)}`]),
    ...(opaque === true ? ["It may do more than can be seen from here."] : []),
    ...(Array.isArray(doubts) ? doubts : []).map((doubt) => `Not known: ${visibleText(String(doubt))}`),
    `Asked because: ${visibleText(String(reason))}`,
  ].join("\n");
}
