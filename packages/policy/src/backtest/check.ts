import { errorMessage } from "@reins/kit";
import { isNode, LineCounter, parseDocument } from "yaml";
import { readConstitution } from "../constitution/read.ts";
import { type TestOutcome, testOutcomes } from "../constitution/run-tests.ts";
import type { ConstitutionText } from "../constitution/text.ts";
import { Policy } from "../decision/policy.ts";
import { type FilePlace, PolicyError, type PolicyFault } from "../policy-error.ts";
import { unreachableRules } from "./unreachable.ts";
import { wideRules } from "./wide-rules.ts";

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
  return [...unreachable, ...doubled, ...wide];
}
