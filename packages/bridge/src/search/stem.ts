/** Forms that no rule reaches, and words that look like another's inflection. */
const IRREGULAR: ReadonlyMap<string, string> = new Map(
  Object.entries({
    analysis: "analyze",
    bought: "buy",
    built: "build",
    children: "child",
    daily: "day",
    data: "data",
    ddos: "ddos",
    embed: "embed",
    found: "find",
    indices: "index",
    made: "make",
    paid: "pay",
    portion: "portion",
    payment: "pay",
    people: "person",
    production: "production",
    ran: "run",
    sent: "send",
    setting: "setting",
    sold: "sell",
    spent: "spend",
    station: "station",
    taken: "take",
    took: "take",
    went: "go",
    written: "write",
    wrote: "write",
  }),
);

/** A suffix, what stands instead of it, and how long the rest must be. */
type Rule = readonly [suffix: string, instead: string, rest: number];

const PLURAL: readonly Rule[] = [
  ["ies", "y", 2],
  ["sses", "ss", 2],
  ["xes", "x", 2],
  ["ches", "ch", 2],
  ["shes", "sh", 2],
  ["ss", "ss", 0],
  ["us", "us", 0],
  ["is", "is", 0],
  ["s", "", 3],
];
const VERB: readonly Rule[] = [
  ["ing", "", 3],
  ["eed", "eed", 0],
  ["ied", "y", 2],
  ["ed", "", 3],
];
const NOUN: readonly Rule[] = [
  ["ification", "ify", 2],
  ["isation", "ize", 3],
  ["ization", "ize", 3],
  ["scription", "scribe", 1],
  ["ation", "", 4],
  ["tion", "t", 2],
  ["sion", "s", 3],
  ["ise", "ize", 4],
  ["yse", "yze", 3],
  ["ate", "", 4],
];
const DERIVED: readonly Rule[] = [
  ["ically", "ic", 3],
  ["ment", "", 4],
  ["ness", "", 4],
  ["ability", "", 4],
  ["able", "", 4],
  ["ly", "", 4],
];
const ENDING: readonly Rule[] = [
  ["e", "", 2],
  ["y", "i", 2],
];

/** Reduces an English word in lower case to what its inflections share, such as `creat` for "creation" and "creates". */
export function stem(word: string): string {
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular === word ? word : stem(irregular);
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const one = apply(PLURAL, word);
  const known = IRREGULAR.get(one);
  if (known !== undefined) return known === one ? one : stem(known);
  return finish(apply(DERIVED, apply(NOUN, inflected(one))));
}

function inflected(word: string): string {
  const rest = apply(VERB, word);
  // "String" and "spring" have no vowel before the ending.
  if (rest === word || !/[aeiouy]/.test(rest)) return word;
  return /(?:at|is|iz|ys|yz)$/.test(rest) ? `${rest}e` : rest;
}

/** Drops a silent ending and the second of two consonants. */
function finish(word: string): string {
  return apply(ENDING, word).replace(/([b-df-hj-np-tv-z])\1$/, "$1");
}

function apply(rules: readonly Rule[], word: string): string {
  const rule = rules.find(([suffix, , rest]) => word.endsWith(suffix) && word.length - suffix.length >= rest);
  if (!rule) return word;
  const [suffix, instead] = rule;
  return word.slice(0, word.length - suffix.length) + instead;
}
