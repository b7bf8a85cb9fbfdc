import type { JsonObject } from "@reins/acp";
import { visibleText } from "@reins/kit";
import { type Approval, answererOf, type Harness, type Principal, shownTo } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import { approvalIn, permissionIdOf, sessionIdOf, sessionIn } from "./shapes.ts";

const MOST_LISTED = 500;

const DECISIONS = { once: "allow_once", always: "allow_always", reject: "deny" } as const;
export type PermissionReply = keyof typeof DECISIONS;

/** A question for permission as OpenCode's clients know it. */
interface Permission extends JsonObject {
  readonly id: string;
  readonly sessionID: string;
  readonly permission: string;
  readonly patterns: readonly string[];
}

/** The approvals that wait for an answer that a principal may give. */
export async function pendingPermissions(
  { approvals }: Harness,
  principal: Principal,
): Promise<readonly Permission[]> {
  const { tenant } = principal;
  const pending = await approvals.list({ tenant, state: "pending", limit: MOST_LISTED });
  return pending.flatMap((approval) => shownPermission(principal, approval) ?? []);
}

/** An approval as a client sees it; undefined where it is not the principal's to answer. */
export function shownPermission(
  principal: Principal,
  approval: Approval,
  tool?: JsonObject,
): Permission | undefined {
  const shown = shownTo(answererOf(principal), approval);
  if ("withheld" in shown) return undefined;
  const { id, session, reason, facts, options } = shown;
  const { permission, patterns, metadata } = subjectOf(shown);
  return {
    id: permissionIdOf(id),
    sessionID: sessionIdOf(session),
    permission,
    patterns,
    metadata: { ...metadata, reason, tool: shown.tool, arguments: facts.arguments },
    always: options.includes("allow_always") ? patterns : [],
    ...(tool && { tool }),
  };
}

/** The arguments that a tool for command lines has beside the line. */
const BESIDE_COMMAND: ReadonlySet<string> = new Set([
  ...["description", "timeout", "timeout_ms", "background", "is_background", "run_in_background"],
  ...["cwd", "working_dir", "workdir", "directory", "dir_path"],
]);

/** What an approval is about, by OpenCode's names. Its clients show these alone, so they are of what would be done. */
function subjectOf({ tool, facts }: Pick<Approval, "tool" | "facts">): {
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly metadata: JsonObject;
} {
  const commands = facts.effects.flatMap((effect) =>
    effect.kind === "exec"
      ? [[effect.command, ...effect.arguments.map((word) => word ?? "…")].join(" ")]
      : [],
  );
  const paths = (kind: "read" | "write") =>
    facts.effects.flatMap((effect) => (effect.kind === kind ? [visibleText(effect.path)] : []));
  const hosts = facts.effects.flatMap((effect) => (effect.kind === "net" ? [visibleText(effect.host)] : []));
  const given = commandLineIn(facts.arguments);
  if (commands.length > 0 || given !== undefined) {
    const line = visibleText(given ?? commands.join("; "));
    return { permission: "bash", patterns: [line], metadata: { command: line } };
  }
  const [written, read] = [paths("write"), paths("read")];
  if (written.length > 0)
    return { permission: "edit", patterns: written, metadata: { filepath: written.join(", ") } };
  if (hosts.length > 0)
    return { permission: "webfetch", patterns: hosts, metadata: { url: hosts.join(", ") } };
  if (read.length > 0) return { permission: "read", patterns: read, metadata: {} };
  return { permission: tool, patterns: [tool], metadata: {} };
}

/** The command line that arguments are; of a tool that takes others too, one would say nothing of what it does. */
function commandLineIn(given: unknown): string | undefined {
  const { command, ...others }: Readonly<Record<string, unknown>> = { ...Object(given) };
  const isWhole = Object.keys(others).every((name) => BESIDE_COMMAND.has(name));
  return typeof command === "string" && isWhole ? command : undefined;
}

/** What became of a question about an approval. One that was withdrawn is rejected; it may be asked again. */
export function replyTo({ state, answers }: Approval): PermissionReply {
  const { decision = "deny" } = answers.at(-1) ?? {};
  if (decision === "deny" || state === "denied" || state === "withdrawn" || state === "expired")
    return "reject";
  return decision === "allow_always" ? "always" : "once";
}

/** Gives a person's answer. An approval that has one is a conflict. */
export async function replyPermission(
  { approvals }: Harness,
  principal: Principal,
  given: {
    readonly permission: string;
    readonly session?: string;
    readonly reply: PermissionReply;
    readonly message?: string | undefined;
  },
): Promise<true> {
  const { permission, session, reply, message: note } = given;
  const unknown = new HttpProblem("not_found", `there is no permission ${permission}`);
  const id = approvalIn(permission);
  const approval = id === undefined ? undefined : await approvals.get(id, principal.tenant);
  if (id === undefined || !approval) throw unknown;
  if (session !== undefined && approval.session !== sessionIn(session)) throw unknown;
  const said = note === undefined ? {} : { note };
  await approvals.answer(id, { decision: DECISIONS[reply], ...said, ...answererOf(principal) });
  return true;
}
