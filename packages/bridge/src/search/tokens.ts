import { stem } from "./stem.ts";

/** Boundaries within a word, as in `camelCase`, `HTTPServer` or `v2`. */
const SEAMS = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Scripts without spaces: each character counts as a word. */
const SIGNS = /(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/u;
/** The most distinct words of a query that count. */
const MAX_QUERY_WORDS = 64;

/** Words of a query that say nothing about what is sought. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being between both but by can cannot
  could did do does doing don down each few for from further had has have having he her here hers him his how i if in
  into is it its itself just let ll me more most my myself no nor not now of off on once only or other our ours out
  over own please re s same she should so some such t than that the their them then there these they this those
  through to too under until up us very was we were what when where which while who whom why will with would you
  your yours want need like help something anything give right via whether`
    .split(/\s+/)
    .map(stem),
);

/** The words of a text: NFKC, lower case, stemmed. Identifiers are split and also kept whole. */
export function tokensOf(text: string): string[] {
  return (text.normalize("NFKC").match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(SEAMS).flatMap((part) => part.split(SIGNS));
    const whole = parts.length > 1 ? [...parts, word] : parts;
    return whole.map((part) => stem(part.toLowerCase()));
  });
}

/** The distinct words of a query that count. Stop words count where there are no others. */
export function queryTokens(query: string): readonly string[] {
  const words = [...new Set(tokensOf(query))];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return (telling.length > 0 ? telling : words).slice(0, MAX_QUERY_WORDS);
}
