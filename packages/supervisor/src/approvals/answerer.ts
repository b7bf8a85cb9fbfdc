import { visibleJson } from "@reins/kit";
import type { Effect, ReadEffect, WriteEffect } from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import { ADMIN, APPROVER, actorOf, isAdmin, type Principal } from "../identity/principal.ts";
import type { Approval, ApprovalAnswer, ApprovalChange, ApprovalOption } from "./approval.ts";
import { offeredPrefixes } from "./request.ts";

/** A principal who wants to see or answer approvals, as the harness knows them. */
export interface Answerer {
  /** The name under which they act in the ledger. */
  readonly by: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  /** Whether the token is an agent's. */
  readonly isAgent?: boolean | undefined;
}

/** What decides who may answer. */
type Answerable = Pick<
  Approval,
  "tenant" | "user" | "agent" | "chain" | "quorum" | "approvers" | "four_eyes" | "asked_by" | "options"
>;

/** The answers that a principal may give to an approval, and why not the others. */
export interface Permitted {
  readonly options: readonly ApprovalOption[];
  readonly reason: string;
}

/** Prefix of the harness's own names; answers under one are refused. */
const RESERVED = "reins:";

/** A principal as one who sees and answers approvals. */
export function answererOf(principal: Principal): Answerer {
  const { tenant, roles, kind } = principal;
  const held = isAdmin(principal) && !roles.includes(ADMIN) ? [...roles, ADMIN] : roles;
  return { by: actorOf(principal), tenant, roles: held, isAgent: kind === "agent" };
}

/** Refuses a principal that is no person; an agent never answers. */
export function expectPerson({ by, isAgent }: Answerer, approval?: Answerable): void {
  if (isAgent || by === approval?.agent || approval?.chain.includes(by))
    throw new SupervisorError("forbidden", "an agent does not answer approvals; a person has to");
  if (by === "" || by.startsWith(RESERVED))
    throw new SupervisorError("forbidden", `"${by}" is not a person who could answer`);
}

/**
 * What a principal may say to an approval, whichever way the answer comes. The user for whom the agent asks and the
 * approvers of the tenant answer, unless the rule names the roles that do; admins hold every role. Where it takes others
 * than the one who asks, that user, and the one who prompted the turn, can only say no.
 */
export function mayAnswer(answerer: Answerer, approval: Answerable): Permitted {
  const { tenant, user, options, approvers, four_eyes, quorum, asked_by } = approval;
  const { isAgent, by } = answerer;
  if (isAgent || answerer.tenant !== tenant || by.startsWith(RESERVED))
    return { options: [], reason: "an agent does not answer approvals; a person has to" };
  const owns = isOwner(answerer, approval);
  const holds = holdsRole(answerer, approvers ?? [APPROVER]);
  if (!owns && !holds) return { options: [], reason: `that takes ${rolesText(approvers)}` };
  const asks = owns || (asked_by !== undefined && isOwner(answerer, { tenant, user: asked_by }));
  const takesOthers = four_eyes === true || quorum > 1;
  if (!asks || (!takesOthers && (holds || approvers === undefined))) return { options, reason: "" };
  const reason = takesOthers
    ? `the agent asks for ${owns ? user : asked_by}, so that others have to agree`
    : `that takes ${rolesText(approvers)}`;
  return { options: options.filter((option) => option === "deny"), reason };
}

/** Refuses an answer that a principal may not give. */
export function expectMayAnswer(answerer: Answerer, approval: Approval, decision: ApprovalOption): void {
  expectPerson(answerer, approval);
  const { options, reason } = mayAnswer(answerer, approval);
  // An answer that is not on offer at all is refused later, as invalid.
  if (options.includes(decision) || (options.length > 0 && !approval.options.includes(decision))) return;
  throw new SupervisorError("forbidden", `${answerer.by} may not answer ${approval.id} so: ${reason}`);
}

/** Whether a principal has or answers something like an approval, or a grant that came of one. */
export function isConcerned(
  answerer: Answerer,
  of: Pick<Approval, "tenant" | "user" | "approvers">,
): boolean {
  if (answerer.isAgent || answerer.tenant !== of.tenant) return false;
  return isOwner(answerer, of) || holdsRole(answerer, of.approvers ?? [APPROVER]);
}

function isOwner({ by }: Answerer, { tenant, user }: Pick<Approval, "tenant" | "user">): boolean {
  return by === actorOf({ tenant, user });
}

function holdsRole({ roles }: Answerer, wanted: readonly string[]): boolean {
  return roles.some((role) => role === ADMIN || wanted.includes(role));
}

function rolesText(approvers: readonly string[] = [APPROVER]): string {
  return `the role ${[...approvers, ADMIN].map((role) => `"${role}"`).join(" or ")}`;
}

/** What others are shown of an approval: that an agent waits, and since when; not what for. */
export interface WithheldApproval
  extends Pick<Approval, "id" | "tenant" | "agent" | "state" | "created_at" | "expires_at"> {
  readonly withheld: true;
}

/** An approval with what the one who looks can allow always instead of exactly what is asked. */
export interface ShownApproval extends Approval {
  readonly prefixes?: readonly (readonly string[])[];
}

/** A step in the life of an approval, as uninvolved principals see it. */
export interface WithheldChange extends Pick<ApprovalChange, "seq" | "at"> {
  readonly approval: WithheldApproval;
}

/** An approval as a principal is shown it: whole, with what they may answer, or only that it is there. */
export function shownTo(answerer: Answerer, approval: Approval): ShownApproval | WithheldApproval {
  if (!isConcerned(answerer, approval)) return withheld(approval);
  if (approval.state !== "pending") return approval;
  const { options } = mayAnswer(answerer, approval);
  const prefixes =
    approval.command && options.includes("allow_always") ? offeredPrefixes(approval.command) : [];
  return { ...approval, options, ...(prefixes.length > 0 && { prefixes }) };
}

/** A change as a principal sees it. */
export function changeShownTo(answerer: Answerer, change: ApprovalChange): ApprovalChange | WithheldChange {
  const approval = shownTo(answerer, change.approval);
  if (!("withheld" in approval)) return { ...change, approval };
  const { seq, at } = change;
  return { seq, at, approval };
}

/** An approval without anything that says what it is about. */
export function withheld(approval: Approval): WithheldApproval {
  const { id, tenant, agent, state, created_at, expires_at } = approval;
  return { id, tenant, agent, state, created_at, expires_at, withheld: true };
}

/**
 * What a person is shown: exactly what the answer counts for, one thing a line. Everything that came from elsewhere is
 * quoted, so that no text can pass for another line or hide part of itself.
 */
export function describeApproval(approval: Approval): string {
  const { id, state, facts, rule, reason, cwd, expires_at, options, enforcement, binding, unreadable } =
    approval;
  const lines = [
    `approval ${id}: ${state}, ${answersSoFar(approval)}`,
    `who: ${asker(approval)}`,
    `what: tool ${visibleJson(facts.tool)} (${visibleJson(approval.event_type)}), ${enforcement}`,
    ...facts.effects.map((effect) => `  ${effectText(effect)}`),
    ...(facts.opaque ? ["  may do more than can be seen from here"] : []),
    ...facts.doubts.map((doubt) => `  not known: ${visibleJson(doubt)}`),
    `with: ${visibleJson(facts.arguments)}`,
    `in: ${visibleJson(cwd)}`,
    ...Object.entries(approval.target_state).map(
      ([path, was]) => `  ${visibleJson(path)} is now ${visibleJson(was)}`,
    ),
    ...Object.entries(approval.input_state ?? {}).map(
      ([path, was]) => `  depends on ${visibleJson(path)}, which is now ${visibleJson(was)}`,
    ),
    `why: ${visibleJson(reason)}${rule === undefined ? "" : ` (rule ${visibleJson(rule)})`}`,
    ...claimLines(approval),
    ...approval.answers.map(answerLine),
    ...(unreadable === undefined
      ? []
      : [`not shown exactly, so it can only be denied: ${visibleJson(unreadable)}`]),
    `answers: ${options.join(", ")}`,
    `until: ${expires_at}`,
    `binding: ${binding}`,
  ];
  return lines.join("\n");
}

function asker({ agent, chain, user, tenant, session }: Approval): string {
  const through = chain.length > 0 ? ` through ${chain.map(visibleJson).join(", ")}` : "";
  return `agent ${visibleJson(agent)}${through} for ${visibleJson(user)} of ${visibleJson(tenant)}, session ${visibleJson(session)}`;
}

function answersSoFar({ answers, quorum }: Approval): string {
  return `${answers.length} of ${quorum} ${quorum === 1 ? "answer" : "answers"}`;
}

function effectText(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `read ${pathText(effect)}`;
    case "write":
      return `write ${pathText(effect)}${effect.destroys ? ", what is there is lost" : ""}`;
    case "exec":
      return `run ${[effect.command, ...effect.arguments].map(wordText).join(" ")}${effect.opaque ? " (opaque)" : ""}`;
    case "net":
      return `reach ${effect.host === "*" ? "any host" : visibleJson(effect.host)}`;
  }
}

function pathText({ path, place, deep }: ReadEffect | WriteEffect): string {
  return `${visibleJson(path)}${deep ? " and what is below it" : ""} (${place})`;
}

function wordText(word: string | null): string {
  return word === null ? "(known only when it runs)" : visibleJson(word);
}

/** What the agent claims about its own action, apart from the facts. */
function claimLines({ facts: { claims } }: Approval): string[] {
  const said = Object.entries(claims).filter(([, value]) => value !== undefined);
  return said.map(([name, value]) => `the agent says: ${visibleJson(name)} ${visibleJson(String(value))}`);
}

function answerLine({ by, decision, note, at }: ApprovalAnswer): string {
  return `answered: ${decision} by ${visibleJson(by)} at ${at}${note === undefined ? "" : `, ${visibleJson(note)}`}`;
}
