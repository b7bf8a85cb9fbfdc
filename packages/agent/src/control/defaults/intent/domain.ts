import type { PerceptionDomain } from "../../perception.ts";
import type { IntentName } from "./rules.ts";

/** In the order in which they win. */
const SIGNS: readonly (readonly [PerceptionDomain, RegExp])[] = [
  ["security", /\b(security|vulnerab\w+|exploit|secrets?|credentials?|passwords?|tokens?|cve|injection)\b/],
  [
    "operations",
    /\b(deploy\w*|docker|kubernetes|k8s|terraform|server|service|systemd|pipeline|ci|monitoring|logs?)\b/,
  ],
  [
    "data_analysis",
    /\b(csv|dataset|data ?frame|statistics|plot|chart|regression|average|sql query|spreadsheet)\b/,
  ],
  ["project_management", /\b(issues?|tickets?|roadmap|milestone|backlog|sprint|release notes|changelog)\b/],
  ["research", /\b(research|paper|literature|sources|citations?|survey)\b/],
  ["writing", /\b(essay|article|blog|letter|email|prose|readme|docs?|documentation|proofread|translate)\b/],
  [
    "coding",
    /\b(code|function|class|bug|test|compile|refactor|api|module|type ?script|python|rust|repo(sitory)?)\b|\.\w{1,4}\b/,
  ],
];

const BY_INTENT: Partial<Record<IntentName, PerceptionDomain>> = {
  conversation: "conversation",
  message: "project_management",
  board: "project_management",
  test: "coding",
  fix: "coding",
  edit: "coding",
  create: "coding",
  review: "coding",
};

/** The field of work that a prompt belongs to. */
export function domainOf(prompt: string, intent: IntentName): PerceptionDomain {
  if (intent === "conversation") return "conversation";
  const words = prompt.toLowerCase();
  return SIGNS.find(([, sign]) => sign.test(words))?.[0] ?? BY_INTENT[intent] ?? "general";
}
