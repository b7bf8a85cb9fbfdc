import { blake3Hex, type Draft } from "@reins/ledger";

/** The largest draft, in bytes of JSON. The ledger's own bound leaves room for parents, times and a signature. */
const MAX_DRAFT = 900 * 1024;
/** The deepest nesting in a payload; the ledger's own bound counts the entry around it. */
const DEEPEST = 60;
/** The most bytes of JSON for one UTF-16 unit, which may be escaped. */
const UNIT_BYTES = 6;
/** The most bytes of JSON for a number, a flag, or the punctuation of a member. */
const OTHER_BYTES = 32;

/** How long texts, lists and objects may be. */
interface Cut {
  readonly text: number;
  readonly items: number;
}

/** Each is tried where the one before leaves a draft too large. */
const CUTS: readonly Cut[] = [
  { text: 64 * 1024, items: 4_096 },
  { text: 8 * 1024, items: 512 },
  { text: 1_024, items: 64 },
  { text: 128, items: 8 },
];

/**
 * A draft that the ledger can hold: the same where it fits. Otherwise long texts and lists end in a mark that says how
 * long the whole was, with its digest, so that what an agent sends never keeps an entry off the record.
 */
export function bounded(draft: Draft): Draft {
  // Private parts are kept beside the ledger, whatever their size.
  if (draft.isPrivate) return draft;
  const { target, tags = [], payload } = draft;
  const weight = weightOf([target, tags, payload], 0);
  if (weight <= MAX_DRAFT) return draft;
  if (weight < Number.POSITIVE_INFINITY && sizeOf(draft) <= MAX_DRAFT) return draft;
  for (const cut of CUTS) {
    const smaller = { ...withNames(draft, cut), payload: cutValue(payload, cut, 1) };
    if (sizeOf(smaller) <= MAX_DRAFT) return smaller;
  }
  const last = CUTS.at(-1) ?? { text: 0, items: 0 };
  return { ...withNames(draft, last), payload: { truncated: wholeOf(payload) } };
}

function withNames(draft: Draft, cut: Cut): Draft {
  const target = cutText(draft.target, cut);
  if (!draft.tags) return { ...draft, target };
  return { ...draft, target, tags: draft.tags.slice(0, cut.items).map((tag) => cutText(tag, cut)) };
}

/** At least as many bytes as a value takes in JSON; infinite where it is nested too deep. Cheap: most drafts are small. */
function weightOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length * UNIT_BYTES + OTHER_BYTES;
  if (!isContainer(value)) return OTHER_BYTES;
  // The list around the payload counts as one.
  if (depth > DEEPEST) return Number.POSITIVE_INFINITY;
  let weight = OTHER_BYTES;
  if (Array.isArray(value)) for (const item of value) weight += weightOf(item, depth + 1);
  else
    for (const [name, member] of Object.entries(value))
      weight += name.length * UNIT_BYTES + OTHER_BYTES + weightOf(member, depth + 1);
  return weight;
}

function sizeOf({ target, tags, payload, entity_id, source, actor }: Draft): number {
  return Buffer.byteLength(JSON.stringify([target, tags, payload, entity_id, source, actor]));
}

function cutValue(value: unknown, cut: Cut, depth: number): unknown {
  if (typeof value === "string") return cutText(value, cut);
  if (!isContainer(value)) return value;
  if (depth > DEEPEST) return { truncated: wholeOf(value) };
  const inside = (member: unknown) => cutValue(member, cut, depth + 1);
  if (Array.isArray(value)) {
    if (value.length <= cut.items) return value.map(inside);
    return {
      truncated: { count: value.length, ...wholeOf(value) },
      first: value.slice(0, cut.items).map(inside),
    };
  }
  const members = Object.entries(value);
  const kept = members.slice(0, cut.items).map(([name, member]) => [cutText(name, cut), inside(member)]);
  if (members.length <= cut.items) return Object.fromEntries(kept);
  return { ...Object.fromEntries(kept), truncated: { count: members.length, ...wholeOf(value) } };
}

function cutText(text: string, cut: Cut): string {
  if (text.length <= cut.text) return text;
  return `${text.slice(0, cut.text).toWellFormed()}… (truncated: ${text.length} characters, blake3:${blake3Hex(text)})`;
}

/** What identifies a value of which only a part is recorded. */
function wholeOf(value: unknown): { readonly bytes: number; readonly digest: string } {
  const text = JSON.stringify(value) ?? "null";
  return { bytes: Buffer.byteLength(text), digest: `blake3:${blake3Hex(text)}` };
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null && !JSON.isRawJSON(value);
}
