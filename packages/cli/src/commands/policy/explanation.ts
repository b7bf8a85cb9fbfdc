import type {
  AskedClause,
  DecisionInput,
  Effect,
  Explained,
  ExplainedRule,
  PolicyVerdict,
  Subject,
} from "@reins/policy";
import { counted } from "../../output.ts";
import { inline, ruleName, wrapped } from "./layout.ts";

export interface ExplainReport extends Explained {
  readonly file: string;
  readonly event_type: string;
  readonly subject: Subject;
  readonly cwd: string;
  readonly workspace: readonly string[];
  readonly at: string;
  /** What came before, by the rules that count it; null without a ledger. */
  readonly counters: DecisionInput["counters"] | null;
  /** For `modify`: the decision on the modified action. */
  readonly again: Explained | null;
}

export function describeExplanation(report: ExplainReport): string {
  const { subject, facts, again, event_type } = report;
  const what = facts.tool === "" ? event_type : `${event_type} of ${facts.tool}`;
  const who = `by ${subject.agent} (${subject.trust}) for ${subject.user}, ${subject.enforcement}, in ${report.cwd}`;
  return [
    wrapped(`${what} ${who}`, 4, 0),
    describeDecision(report, report),
    again ? `After the change\n\n${describeDecision(again, report)}` : "",
    again ? `${wrapped(outcomeOf(report, again), 2, 0)}` : "",
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function describeDecision(explained: Explained, report: ExplainReport): string {
  return [
    `What it does\n${describeFacts(explained)}`,
    `Rules of ${report.file}\n${explained.rules.map(describeRule).join("")}`,
    describeCounters(report),
    describeVerdict(explained),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function describeFacts({ facts }: Explained): string {
  const { effects, opaque, doubts } = facts;
  const found = effects.map((effect) => wrapped(describeEffect(effect), 12, 2));
  const hidden = opaque && doubts.length === 0 ? ["a program does what its arguments do not show"] : doubts;
  return [
    ...(found.length > 0 ? found : ["  no effect was found\n"]),
    ...(hidden.length > 0 ? [opaque ? "  and may do more than this:\n" : "  with doubts:\n"] : []),
    ...hidden.map((doubt) => wrapped(`- ${doubt}`, 6, 4)),
  ].join("");
}

function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `reads     ${effect.path} (${effect.place})`;
    case "write":
      return `${effect.destroys ? "destroys" : "writes  "}  ${effect.path} (${effect.place})`;
    case "exec": {
      const words = [effect.command, ...effect.arguments.map((word) => word ?? "…")].join(" ");
      return `runs      ${words}${effect.opaque ? " (opaque)" : ""}`;
    }
    case "net":
      return `speaks    to ${effect.host === "*" ? "an unknown host" : effect.host}`;
  }
}

function describeRule({ rule, verdict, matched, held, failed }: ExplainedRule): string {
  const outcome = matched ? `matches: ${verdict}` : "does not match";
  return [
    wrapped(`${matched ? ">" : "-"} ${rule} ${outcome}`, 6, 2),
    ...(matched && held.length === 0 ? ["      matches everything\n"] : []),
    ...failed.map((clause) => wrapped(`failed: ${described(clause)}`, 14, 6)),
    ...held.map((clause) => wrapped(`held:   ${described(clause)}`, 14, 6)),
  ].join("");
}

function described({ clause, asked }: AskedClause): string {
  return `${clause} ${inline(asked)}`;
}

function describeCounters({ counters }: ExplainReport): string {
  if (counters === null) return wrapped("There is no ledger, so nothing counts as done before.", 0);
  const lines = Object.entries(counters).map(([key, times]) => {
    const [rule = key] = key.split("#");
    return wrapped(`${counted(times, "time")} what "${rule}" asks for`, 6, 2);
  });
  return lines.length === 0 ? "" : `What came before\n${lines.join("")}`;
}

function describeVerdict({ verdict, limits, harnesses }: Explained): string {
  const more = describeTerms(verdict);
  const passes = verdict.verdict !== "blocked";
  return [
    wrapped(`Verdict: ${verdict.verdict}${more.length > 0 ? `; ${more.join("; ")}` : ""}`, 2, 0),
    wrapped(`by ${ruleName(verdict.rule)}: ${verdict.reason}`, 2),
    ...(passes && limits.length > 0
      ? [wrapped(`counts against ${limits.map(({ name }) => `"${name}"`).join(", ")}`, 2)]
      : []),
    ...(passes && harnesses.length > 0 ? [wrapped(`also asked: ${harnesses.join(", ")}`, 2)] : []),
  ].join("");
}

function describeTerms(verdict: PolicyVerdict): readonly string[] {
  switch (verdict.verdict) {
    case "ask": {
      const { quorum, expires_ms } = verdict;
      return [
        ...(quorum === undefined ? [] : [`${counted(quorum, "person", "people")} must agree`]),
        ...(expires_ms === undefined ? [] : [`the approval expires after ${expires_ms / 1_000} s`]),
      ];
    }
    case "defer":
      return [`to be asked again after ${verdict.retry_after_ms / 1_000} s`];
    case "modify":
      return [`with ${inline(verdict.patch)}, then decided again`];
    default:
      return [];
  }
}

/** A modified action is allowed unless its new form is not. */
function outcomeOf({ verdict }: ExplainReport, again: Explained): string {
  const { verdict: second, rule } = again.verdict;
  if (second === "modify" && rule !== verdict.rule)
    return `In the end: blocked, because ${ruleName(verdict.rule)} and ${ruleName(rule)} would change it in two ways`;
  if (second === "allowed" || second === "modify") return `In the end: modify, by ${ruleName(verdict.rule)}`;
  return `In the end: ${second}, by ${ruleName(rule)}`;
}
