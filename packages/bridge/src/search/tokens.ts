import { stem } from "./stem.ts";

/** Boundaries within a word, as in `camelCase`, `HTTPServer` or `sha256`; not in short names such as `s3` or `2fa`. */
const SEAMS =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L}{3})(?=\p{N})|(?<=\p{N})(?=\p{L}{3})/u;
/** Words of two parts that are also written as one, and verbs of two words; both parts and the whole are words. */
const COMPOUNDS: ReadonlySet<string> = new Set(
  `backup cleanup dayoff followup handover kickoff moneyback putoff rerun rightnow signoff spinup takeover turndown checkout checkin checkbox database dataset dropdown email filesystem firewall hostname inbox keyword lifecycle login
  logout lookup metadata namespace newsletter offboarding onboarding oncall password payout pipeline playlist postcode
  realtime rollback rollout screenshot setup shutdown signin signout signup spreadsheet standup subtask teammate template
  timeoff timeout timesheet timestamp timezone todo username voicemail webhook webpage website whitelist wifi workflow
  workspace worktree`.split(/\s+/),
);
/** Scripts without spaces: each character counts as a word. */
const SIGNS = /(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/u;
/** The most distinct words of a query that count. */
const MAX_QUERY_WORDS = 64;

/** Words of a query that say nothing about what is sought. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any are as at be because been before being between both but by can cannot
  could did do does doing don down each few for from further had has have having he her here hers him his how i if in
  into is it its itself just let ll me more most my myself no nor not now of off on only or other our ours out
  over own please re s same she should so some such t than that the their them then there these they this those
  through to too under until up us very was we were what when where which while who whom why will with would you
  your yours want need like help something anything give right via whether many much yet still m ve d`
    .split(/\s+/)
    .map(stem),
);

/** The words of a text: NFKC, lower case, stemmed. Identifiers are split and also kept whole. */
export function tokensOf(text: string): string[] {
  const words = (text.normalize("NFKC").match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(SEAMS).flatMap((part) => part.split(SIGNS));
    return (parts.length > 1 ? [...parts, word] : parts).map((part) => part.toLowerCase());
  });
  return words.flatMap((word, index) => {
    const both = `${words[index - 1] ?? ""}${word}`;
    return COMPOUNDS.has(both) && both !== word ? [stem(word), stem(both)] : [stem(word)];
  });
}

/** The distinct words of a query that count. Stop words count where there are no others. */
export function queryTokens(query: string): readonly string[] {
  const words = [...new Set(tokensOf(query))];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return (telling.length > 0 ? telling : words).slice(0, MAX_QUERY_WORDS);
}
