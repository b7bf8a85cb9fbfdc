import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** What is wrong with one member of a request. */
export interface MemberFault {
  /** Its path, with dots between the names; empty for the whole. */
  readonly path: string;
  /** What is expected of it, as the end of a sentence that begins with its name. */
  readonly message: string;
}

const MOST_FAULTS = 5;
const LONGEST_NAME = 128;

/** What a reader calls the types of JSON. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["number", "a number"],
  ["int", "a whole number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "an object"],
  ["record", "an object"],
  ["null", "null"],
]);

/** What a text, a list or a number has so and so many of. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ["string", " characters"],
  ["array", " items"],
  ["set", " items"],
  ["object", " members"],
  ["record", " members"],
]);

/** Formats of text with a name that a reader knows; other ones are shown by their pattern. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ["email", "has to be an email address"],
  ["url", "has to be a URL"],
  ["datetime", "has to be a time such as 2026-01-31T12:00:00Z"],
  ["uuid", "has to be a UUID"],
]);

/** What is wrong, member by member. */
export function memberFaults({ issues }: Pick<z.ZodError, "issues">): readonly MemberFault[] {
  return issues.map((issue) => ({ path: pathOf(issue), message: expectationOf(issue) }));
}

/** The same as sentences that name the member and what is expected; `whole` is what the whole is called. */
export function faultSentences(error: Pick<z.ZodError, "issues">, whole: string): string {
  const faults = memberFaults(error);
  const told = faults.slice(0, MOST_FAULTS).map(({ path, message }) => `${path || whole} ${message}`);
  const more = faults.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** Names come from outside too, and may be of any length. */
function pathOf({ path }: Issue): string {
  const text = path.map(String).join(".");
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME).toWellFormed()}…` : text;
}

function expectationOf(issue: Issue): string {
  // A schema's own words are better than any made here.
  if (!/^(?:Invalid|Too|Unrecognized)\b/.test(issue.message)) return ownWords(issue.message);
  switch (issue.code) {
    case "invalid_type": {
      const wanted = kindOf(issue.expected);
      const [, received = ""] = /received (\w+)$/.exec(issue.message) ?? [];
      return received === "undefined"
        ? `is missing; it has to be ${wanted}`
        : `has to be ${wanted}, not ${kindOf(received)}`;
    }
    case "too_small":
      return `has to have at least ${issue.minimum}${UNITS.get(issue.origin) ?? " as its value"}`;
    case "too_big":
      return `may have at most ${issue.maximum}${UNITS.get(issue.origin) ?? " as its value"}`;
    case "invalid_value": {
      const values = issue.values.map((value) => JSON.stringify(value) ?? String(value));
      return values.length === 1 ? `has to be ${values[0]}` : `has to be one of ${values.join(", ")}`;
    }
    case "unrecognized_keys": {
      const names = issue.keys.slice(0, MOST_FAULTS).map((key) => JSON.stringify(key.slice(0, LONGEST_NAME)));
      return `holds what is not known here: ${names.join(", ")}`;
    }
    case "invalid_format":
      return (
        FORMATS.get(issue.format) ??
        (issue.pattern ? `has to match ${issue.pattern}` : `has to be of the form ${issue.format}`)
      );
    case "invalid_union":
      return unionExpectation(issue);
    default:
      return `is not what it has to be: ${issue.message}`;
  }
}

function unionExpectation(issue: Extract<Issue, { code: "invalid_union" }>): string {
  if ("options" in issue && Array.isArray(issue.options))
    return `has to be one of ${issue.options.map((option) => JSON.stringify(option)).join(", ")}`;
  const forms = issue.errors.map(([first]) =>
    first ? `${pathOf(first)} ${expectationOf(first)}`.trim() : "of another form",
  );
  return forms.length === 0
    ? "has none of the forms that it may have"
    : `fits none of its forms (${[...new Set(forms)].join("; or ")})`;
}

function ownWords(message: string): string {
  if (/^(?:1|\d+ to|an? )/.test(message)) return `has to be ${message}`;
  return /^(?:is|has|holds|and|needs|may)\b/.test(message) ? message : `is not taken: ${message}`;
}

function kindOf(type: string): string {
  return KINDS.get(type) ?? (type === "undefined" ? "absent" : type);
}
