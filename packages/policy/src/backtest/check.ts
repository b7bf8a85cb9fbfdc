import { errorMessage } from "@reins/kit";
import { isNode, LineCounter, parseDocument } from "yaml";
import { conditionsIn } from "../constitution/condition.ts";
import type { ConstitutionText } from "../constitution/load.ts";
import { readConstitution } from "../constitution/load.ts";
import { type TestOutcome, testOutcomes } from "../constitution/run-tests.ts";
import { Policy } from "../decision/policy.ts";
import { type FilePlace, PolicyError, type PolicyFault } from "../policy-error.ts";
import { neverMatches, unreachableRules, wideRules } from "./suspect-rules.ts";

/** What there is to say about a constitution before it is used. */
export interface ConstitutionCheck {
  /** The policy it makes, if it makes one. One whose tests fail is given all the same, and must not be used. */
  readonly policy: Policy | undefined;
  /** Why it would be refused; empty when it would be taken. */
  readonly faults: readonly PolicyFault[];
  /** What it would be taken with, and is most likely a mistake. */
  readonly remarks: readonly PolicyFault[];
  readonly tests: readonly TestOutcome[];
}

/** Looks through a constitution as far as that is possible. Never throws for what stands in it. */
export async function checkConstitution(text: ConstitutionText): Promise<ConstitutionCheck> {
  const made = makePolicy(text);
  if (!(made instanceof Policy)) return { policy: undefined, faults: made, remarks: [], tests: [] };
  const placeOf = placesIn(text.rules);
  const tests = await testOutcomes(made);
  return {
    policy: made,
    faults: tests.flatMap(({ fault, index }) =>
      fault === undefined ? [] : [{ message: fault, place: placeOf(["tests", index]) }],
    ),
    remarks: remarksOn(made, placeOf),
    tests,
  };
}

/** The policy that a constitution makes, its tests not run, or why it makes none. */
export function readPolicy(
  text: ConstitutionText,
): { readonly policy: Policy } | { readonly policy: undefined; readonly faults: readonly PolicyFault[] } {
  const made = makePolicy(text);
  return made instanceof Policy ? { policy: made } : { policy: undefined, faults: made };
}

function makePolicy(text: ConstitutionText): Policy | readonly PolicyFault[] {
  try {
    return new Policy(readConstitution(text.rules, text.file), text);
  } catch (error) {
    if (error instanceof PolicyError) return error.faults;
    return [{ message: errorMessage(error), place: undefined }];
  }
}

type PlaceOf = (path: readonly (string | number)[]) => FilePlace | undefined;

/** Finds places in a constitution that can be read. */
function placesIn(text: string): PlaceOf {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return (path) => {
    const node = document.getIn(path, true);
    if (!isNode(node) || !node.range) return undefined;
    const { line, col } = lines.linePos(node.range[0]);
    return { line, column: col };
  };
}

function remarksOn(policy: Policy, placeOf: PlaceOf): PolicyFault[] {
  const { tool_rules } = policy.file;
  const placeOfRule = (name: string, nth: "first" | "last") => {
    const same = (rule: { readonly name: string }) => rule.name === name;
    return placeOf([
      "tool_rules",
      nth === "first" ? tool_rules.findIndex(same) : tool_rules.findLastIndex(same),
    ]);
  };
  const unreachable = unreachableRules(policy).map(({ rule, because }) => ({
    message: `rule "${rule}" can never match: "${because}" before it takes everything it could`,
    place: placeOfRule(rule, "first"),
  }));
  const names = tool_rules.map(({ name }) => name);
  const twice = new Set(names.filter((name, index) => names.indexOf(name) < index));
  const doubled = [...twice].map((name) => ({
    message: `two rules are called "${name}"; verdicts name their rule, so the names have to differ`,
    place: placeOfRule(name, "last"),
  }));
  const wide = wideRules(policy).map(({ index, message }) => ({
    message,
    place: placeOf(["tool_rules", index]),
  }));
  return [...unreachable, ...doubled, ...wide, ...surprises(policy, placeOf)];
}

/** What can be used, and most likely does something other than its writer expects. */
function surprises({ file }: Policy, placeOf: PlaceOf): PolicyFault[] {
  const found: PolicyFault[] = [];
  for (const [index, { name, condition }] of file.tool_rules.entries()) {
    const place = placeOf(["tool_rules", index]);
    const why = neverMatches(condition);
    if (why !== undefined) found.push({ message: `rule "${name}" can never match: ${why}`, place });
    for (const { condition: part } of conditionsIn(condition, []))
      for (const text of Object.values(part.arguments ?? {}).flat())
        if (/\.\*/.test(text))
          found.push({
            message: `rule "${name}" compares an argument with "${text}": this is text with a dot, and no regular expression`,
            place,
          });
  }
  for (const [index, { name, url }] of file.harnesses.entries())
    if (isReadable(url))
      found.push({
        message: `harness "${name}" is asked without encryption: what agents do can be read and changed on the way; use https: or wss:`,
        place: placeOf(["harnesses", index, "url"]),
      });
  if (file.tool_approval_policy?.auto_approve.some((name) => /^\*+$/.test(name)))
    found.push({
      message:
        "auto_approve allows every tool: only auto_deny and write_path_allowlist are looked at before it",
      place: placeOf(["tool_approval_policy", "auto_approve"]),
    });
  return found;
}

/** Whether others on the network can read what is sent to an address. */
function isReadable(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return (protocol === "http:" || protocol === "ws:") && !isLocal;
}
