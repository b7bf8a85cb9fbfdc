import { visibleJson } from "@reins/kit";
import type { Effect, ReadEffect, WriteEffect } from "@reins/policy";
import type { Approval, ApprovalAnswer } from "./approval.ts";

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

/** What the agent says of its own action, told apart from what was found out. */
function claimLines({ facts: { claims } }: Approval): string[] {
  const said = Object.entries(claims).filter(([, value]) => value !== undefined);
  return said.map(([name, value]) => `the agent says: ${visibleJson(name)} ${visibleJson(String(value))}`);
}

function answerLine({ by, decision, note, at }: ApprovalAnswer): string {
  return `answered: ${decision} by ${visibleJson(by)} at ${at}${note === undefined ? "" : `, ${visibleJson(note)}`}`;
}
