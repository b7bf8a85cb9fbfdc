import type { Approval, ShownApproval } from "@reins/api";
import { pageWidth } from "../../output.ts";
import { ago, formatTime, timeLeft } from "../../time.ts";
import { approvalLine } from "./approvals.ts";
import { argumentLines, type SheetRow, sheet } from "./sheet.ts";
import {
  actionSummary,
  answerWords,
  approverWords,
  effectWords,
  exact,
  exactWords,
  quorumWords,
} from "./words.ts";

/** Shows an approval with the commands that answer it. */
export function shownApproval(approval: ShownApproval): string {
  const now = new Date();
  if ("withheld" in approval) return `${approvalLine(approval, now, pageWidth())}\n`;
  const shown = describeApproval(approval, now, pageWidth());
  if (approval.state !== "pending") return shown;
  const approve = approval.options.includes("allow_once") ? `reins approvals approve ${approval.id}\n` : "";
  return `${shown}\n${approve}reins approvals deny ${approval.id} --note <reason>\n`;
}

const HELD: Readonly<Record<Approval["enforcement"], string>> = {
  performed: "Reins itself would perform it",
  confined: "the operating system stops the agent from doing it without permission",
  asked: "the agent asked and is expected to obey the answer; nothing else enforces it",
  observed: "nothing enforces it: it may have been done already",
};

/** Describes who asks for what, exactly, why, and what an answer would apply to. */
export function describeApproval(approval: Approval, now: Date, width: number): string {
  const rows: SheetRow[] = [
    { label: "approval", lines: [approval.id] },
    { label: "state", lines: stateLines(approval, now) },
    { label: "asks", lines: [asker(approval)] },
    { label: "for", lines: [onBehalf(approval)] },
    { label: "why", lines: whyLines(approval) },
    { label: "tool", lines: [`${exact(approval.facts.tool)} (${exact(approval.event_type)})`] },
    { label: "given", lines: argumentLines(approval.facts.arguments) },
    { label: "does", lines: doesLines(approval) },
    { label: "in", lines: [exact(approval.cwd), ...fileLines(approval)] },
    { label: "it says", lines: claimLines(approval) },
    { label: "held", lines: [HELD[approval.enforcement]] },
    { label: "once", lines: [onceWords(approval)] },
    { label: "always", lines: [alwaysWords(approval), ...prefixLines(approval)] },
    { label: "binding", lines: [approval.binding] },
  ];
  return sheet(rows, width);
}

function stateLines(approval: Approval, now: Date): string[] {
  const { state, created_at, expires_at, answers, unreadable } = approval;
  const open = state === "pending" || state === "approved";
  return [
    `${standing(approval, now)}; asked ${ago(created_at, now)}, ${formatTime(created_at)}`,
    ...(open ? [`until ${formatTime(expires_at)}`] : []),
    ...answers.map(answerWords),
    ...(unreadable === undefined
      ? []
      : [`cannot be shown exactly, so it can only be denied: ${exactWords(unreadable)}`]),
  ];
}

function standing(approval: Approval, now: Date): string {
  switch (approval.state) {
    case "pending":
      return `waits, ${timeLeft(approval, now)}; ${quorumWords(approval)}${approverWords(approval)}`;
    case "approved":
      return `approved and not used yet, ${timeLeft(approval, now)}`;
    case "expired":
      return "expired, so it is blocked";
    case "withdrawn":
      return "withdrawn, because the agent no longer waits";
    case "used":
      return "approved and used";
    case "denied":
      return "denied";
  }
}

function asker({ agent, chain }: Approval): string {
  const through = chain.length > 0 ? `, begun by ${chain.map(exact).join(", which began ")}` : "";
  return `agent ${exact(agent)}${through}`;
}

function onBehalf({ user, tenant, session }: Approval): string {
  return `user ${exact(user)} of tenant ${exact(tenant)}, in session ${exact(session)}`;
}

function whyLines({ reason, rule }: Approval): string[] {
  return [exactWords(reason), ...(rule === undefined ? [] : [`rule ${exact(rule)}`])];
}

function doesLines({ facts: { effects, opaque, doubts } }: Approval): string[] {
  return [
    ...(effects.length > 0 ? effects.map(effectWords) : ["nothing that could be determined"]),
    ...(opaque ? ["and may do more than could be determined"] : []),
    ...doubts.map((doubt) => `not known: ${exactWords(doubt)}`),
  ];
}

function fileLines({ target_state, input_state = {} }: Approval): string[] {
  return [
    ...Object.entries(target_state).map(([path, was]) => `${exact(path)} is now ${exactWords(was)}`),
    ...Object.entries(input_state).map(
      ([path, was]) => `depends on ${exact(path)}, which is now ${exactWords(was)}`,
    ),
  ];
}

/** What the agent claims about its action; unchecked. */
function claimLines({ facts: { claims } }: Approval): string[] {
  const said = Object.entries(claims).filter(([, value]) => value !== undefined);
  return said.map(([name, value]) => `${exact(name)}: ${exactWords(String(value))}`);
}

function onceWords({ target_state, input_state = {} }: Approval): string {
  const files =
    Object.keys({ ...target_state, ...input_state }).length > 0
      ? ", as long as the files are what they are now"
      : "";
  return `exactly this, one time: the same agent, user and session, in the same folder${files}`;
}

function prefixLines({ prefixes = [] }: Approval): string[] {
  return prefixes.map((words) => {
    const prefix = words.map(exact).join(" ");
    return `or --prefix "${prefix}": any single plain command in the same folder that begins so, until a manifest changes`;
  });
}

function alwaysWords({ options, agent, user, cwd }: Approval): string {
  if (!options.includes("allow_always"))
    return "not available: part of it is known only when it runs, or the rule forbids it";
  return (
    `exactly this whenever ${exact(agent)} does it for ${exact(user)} in ${exact(cwd)}, in any session, ` +
    "until the grant is revoked or a file it depends on changes; the same effects, and where they do not say " +
    "all, the same arguments"
  );
}

/** What came of an answer, for the one who gave it. */
export function outcomeWords(approval: Approval, decision: Approval["options"][number]): string {
  const { id, agent, user, facts, state, expires_at } = approval;
  const what = `${exact(agent)} for ${exact(user)}, ${actionSummary(facts)}`;
  if (state === "denied") return `denied  ${id}\n  ${what}\n`;
  if (state === "pending") return `noted  ${id}: ${quorumWords(approval)}\n  ${what}\n`;
  const until = `  It is allowed now if the agent waits, else when it asks again, until ${formatTime(expires_at)}.\n`;
  const always = "  The same is allowed from now on; see reins approvals grants.\n";
  return `allowed ${decision === "allow_always" ? "always" : "once"}  ${id}\n  ${what}\n${decision === "allow_always" ? always : until}`;
}
