import type { Part, Word } from "./syntax.ts";

/** More words than this out of one are not listed. */
const WORD_LIMIT = 64;
const GROUP_LIMIT = 16;

type Token = string | Part;

/** `a{b,c}` as `ab` and `ac`; `undefined` when there are too many. Only what stands unquoted in the text counts. */
export function expandBraces(word: Word): readonly Word[] | undefined {
  const hasBrace = word.some((part) => part.kind === "text" && !part.quoted && part.text.includes("{"));
  if (!hasBrace) return [word];
  const tokens = word.flatMap((part): Token[] =>
    part.kind === "text" && !part.quoted ? [...part.text] : [part],
  );
  if (tokens.filter((token) => token === "{").length > GROUP_LIMIT) return undefined;
  return expand(tokens)?.map(toWord);
}

function expand(tokens: readonly Token[]): Token[][] | undefined {
  const group = firstGroup(tokens);
  if (!group) return [[...tokens]];
  const before = tokens.slice(0, group.start);
  const afters = expand(tokens.slice(group.end + 1));
  if (!afters) return undefined;
  const words: Token[][] = [];
  for (const choice of group.choices) {
    for (const middle of expand(choice) ?? []) {
      for (const after of afters) {
        words.push([...before, ...middle, ...after]);
        if (words.length > WORD_LIMIT) return undefined;
      }
    }
  }
  return words;
}

interface Group {
  readonly start: number;
  readonly end: number;
  readonly choices: readonly (readonly Token[])[];
}

function firstGroup(tokens: readonly Token[]): Group | undefined {
  for (let start = 0; start < tokens.length; start += 1) {
    if (tokens[start] !== "{") continue;
    const commas: number[] = [];
    let depth = 0;
    for (let at = start; at < tokens.length; at += 1) {
      if (tokens[at] === "{") depth += 1;
      else if (tokens[at] === "," && depth === 1) commas.push(at);
      else if (tokens[at] === "}") depth -= 1;
      if (depth > 0) continue;
      const choices = choicesOf(tokens, start, at, commas);
      if (choices) return { start, end: at, choices };
      break;
    }
  }
  return undefined;
}

function choicesOf(
  tokens: readonly Token[],
  start: number,
  end: number,
  commas: readonly number[],
): readonly (readonly Token[])[] | undefined {
  if (commas.length > 0) {
    const edges = [start, ...commas, end];
    return edges.slice(1).map((edge, index) => tokens.slice((edges[index] ?? 0) + 1, edge));
  }
  const inside = tokens.slice(start + 1, end);
  if (!inside.every((token) => typeof token === "string")) return undefined;
  return range(inside.join(""));
}

/** `1..5`, `a..e`, `1..9..2`. */
function range(text: string): readonly (readonly Token[])[] | undefined {
  const numbers = /^(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?$/.exec(text);
  const letters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(text);
  const found = numbers ?? letters;
  if (!found) return undefined;
  const [from, to] = numbers
    ? [Number(found[1]), Number(found[2])]
    : [(found[1] ?? "").charCodeAt(0), (found[2] ?? "").charCodeAt(0)];
  const step = Math.max(1, Math.abs(Number(found[3] ?? 1)));
  const width = numbers && /^-?0\d/.test(`${found[1]}`) ? `${found[1]}`.length : 0;
  const words: string[] = [];
  for (let n = from; from <= to ? n <= to : n >= to; n += from <= to ? step : -step) {
    words.push(numbers ? String(n).padStart(width, "0") : String.fromCharCode(n));
    if (words.length > WORD_LIMIT) break;
  }
  return words.map((word) => [...word]);
}

function toWord(tokens: readonly Token[]): Word {
  const word: Part[] = [];
  let plain = "";
  const flush = (): void => {
    if (plain !== "") word.push({ kind: "text", text: plain, quoted: false });
    plain = "";
  };
  for (const token of tokens) {
    if (typeof token === "string") plain += token;
    else {
      flush();
      word.push(token);
    }
  }
  flush();
  return word;
}
