import type { ConstitutionFile, Rule, ToolApprovalPolicy } from "./constitution.ts";

/** The rules of a file: those its lists stand for, then its own. */
export function rulesOf(file: ConstitutionFile): readonly Rule[] {
  return file.tool_approval_policy
    ? [...listRules(file.tool_approval_policy), ...file.tool_rules]
    : file.tool_rules;
}

/** Harn's lists in Harn's order. Tools that they do not name fall to the rules after them, never to allow. */
function listRules({
  auto_deny,
  write_path_allowlist,
  auto_approve,
  require_approval,
}: ToolApprovalPolicy): Rule[] {
  const rules: Rule[] = [];
  const add = (name: string, condition: Rule["condition"], verdict: Rule["verdict"], reason: string) =>
    rules.push({ name: `tool_approval_policy.${name}`, condition, verdict, reason });
  if (auto_deny.length > 0) {
    add("auto_deny", { tool_name_matches: auto_deny }, "blocked", "the tool matches a deny pattern");
  }
  if (write_path_allowlist.length > 0) {
    const allowed = { writes: { every: { match: write_path_allowlist } } };
    add(
      "write_path_allowlist",
      { not: allowed },
      "blocked",
      "the tool writes outside of the write-path allowlist",
    );
  }
  if (auto_approve.length > 0) {
    add(
      "auto_approve",
      { tool_name_matches: auto_approve },
      "allowed",
      "the tool matches an approve pattern",
    );
  }
  if (require_approval.length > 0) {
    add("require_approval", { tool_name_matches: require_approval }, "ask", "the tool requires approval");
  }
  return rules;
}
