import { compilePattern } from "@reins/kit";
import { Bm25Index, type Match, tokensOf } from "../search/bm25.ts";
import { stem } from "../search/stem.ts";
import { synonymsOf } from "../search/synonyms.ts";
import { TextBudget } from "../search/tool-search.ts";
import { isOfOperator, type Skill } from "./skill.ts";

/**
 * Words that occur in requests of every kind. Among few skills any word is rare, so that rarity alone would take
 * "list" or "open" for a reason.
 */
const COMMON: ReadonlySet<string> = new Set(
  `able accept account across act action actual add ago allow almost already always answer app application apply
  ask away back bad base basic become begin better big bit blue both break bring call card care carry case cause
  center certain change check choose city clear client close code come command comment common company complete
  computer consider contain content continue copy correct cost count couple course create current customer cut
  data date day deal decide default delete describe detail difference different direct display document double
  draw drop each early easy edit effect either else empty end enough enter entry error even event ever every
  exact example exist expect explain fact fail fall false far fast feel field file fill final find fine finish
  first fit five fix folder follow form four free friend full function further game general get give go good
  great group grow guess half hand handle happen hard head hear hello high hit hold home hope hour house idea
  important improve include inside instead issue item job join keep key kind know language large last late later
  learn least leave left less letter level library life light like likely limit line link list little live load
  local long look lose lot low machine main make manage many mark match matter maybe mean meet member message
  method might minute miss model moment month morning move much must name near never new next nice night normal
  note nothing number object old one open option order others output own page paper parameter part pass past
  path pay people percent perfect person piece place plain play point possible prepare present press pretty
  previous print probably problem process produce product program project property prove provide public pull
  push put question quick quite random rather reach read ready real reason recent record remember remove rename
  repeat replace reply report request require rest result return right room row rule run same save say school
  script second see seem select send sense sentence separate server service set several short show side sign
  similar simple since single site six size small software solve sort sound source space special specific start
  state stay step still stop store story string strong study stuff style subject such support sure system table
  take talk target task team tell ten term text thank thing think third though thought three time title
  today together tomorrow tool top total touch track translate true try turn two type understand undo update
  upload use useful user usual value variable version view visit wait walk watch water way web website week well
  whole wide win within without wonder word work world worry write wrong year yes yesterday yet young zero`
    .split(/\s+/)
    .map(stem),
);

/** Whether a word, stemmed, says little about what is wanted: a common one, a single letter or a number. */
function isCommonWord(word: string): boolean {
  return COMMON.has(word) || /^(?:\p{N}+|[a-z])$/u.test(word);
}

/** A skill that fits a prompt. */
export interface SkillMatch {
  readonly skill: Skill;
  /** At least {@link LEAST_SCORE}; about 1 for each rare word of the prompt that the skill has, too. */
  readonly score: number;
  /** Which words and files speak for it. */
  readonly reason: string;
}

/** What skills are matched with. */
export interface MatchQuery {
  readonly prompt: string;
  /** Files that the session works with, relative to its folder. */
  readonly workingFiles?: readonly string[] | undefined;
}

const WEIGHTS = { name: 2, short: 1, description: 1.5, when_to_use: 1.5 } as const;
/** What a word counts that says little about any work, however rare it is among the skills at hand. */
const COMMON_SHARE = 0.4;
/** What skills must reach to fit: two common words, or one that is rare. */
const LEAST_SCORE = 0.62;
/** What a synonym counts: less than in a search, because a skill has to fit, not only to be the best there is. */
const SYNONYM_SHARE = 0.4;
const MENTION_SCORE = 2;
const PATH_SCORE = 1;
const MAX_PROMPT = 8_000;
const MAX_FILES = 200;
/** Characters of all skills that are searched for words, the first skills first. */
const MAX_TEXT = 512 * 1024;
/** The most steps in which globs are compared with files, for all skills. */
const MAX_STEPS = 200_000_000;
/** The steps that a character of a glob takes beside those for each character of a file. */
const GLOB_STEPS = 1_000;

/**
 * Ranks the skills that fit a prompt, best first; none may. Words count by BM25F, divided by what a word of one skill can
 * count, so that scores mean the same for three skills and for a thousand.
 */
export function rankSkills(skills: readonly Skill[], query: MatchQuery): readonly SkillMatch[] {
  const prompt = query.prompt.slice(0, MAX_PROMPT);
  const indexed = indexes.get(skills) ?? indexOf(skills);
  indexes.set(skills, indexed);
  const { candidates, index } = indexed;
  const rarest = Math.log((candidates.length - 0.5) / 1.5 + 1);
  const words = new Map(
    index.search(prompt, { limit: candidates.length }).map(({ id, matches }) => [id, matches]),
  );
  const given = {
    words: wordsOf(prompt),
    written: writtenIn(prompt),
    fitting: globMatcher(query.workingFiles ?? []),
  };
  return candidates
    .map((skill) => evidenceFor(skill, given, words.get(skill.id) ?? [], rarest))
    .filter(({ score }) => score >= LEAST_SCORE)
    .toSorted(compare);
}

/** Orders matches by score; of equal ones the operator's is first, whatever others are called. */
function compare(left: SkillMatch, right: SkillMatch): number {
  const precedence = Number(isOfOperator(right.skill)) - Number(isOfOperator(left.skill));
  return right.score - left.score || precedence || (left.skill.id < right.skill.id ? -1 : 1);
}

/** The indexes of lists that are ranked repeatedly. */
const indexes = new WeakMap<readonly Skill[], ReturnType<typeof indexOf>>();

function indexOf(skills: readonly Skill[]) {
  const candidates = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
  const index = new Bm25Index(WEIGHTS, {
    expand: (word) => synonymsOf(word).map((synonym) => ({ ...synonym, share: SYNONYM_SHARE })),
  });
  const budget = new TextBudget(MAX_TEXT);
  for (const { id, short, description, whenToUse } of candidates)
    index.put(id, {
      name: budget.take(id),
      // A derived one would count the same words twice.
      short: description.startsWith(short.replace(/…$/, "")) ? "" : budget.take(short),
      description: budget.take(description),
      when_to_use: budget.take(whenToUse),
    });
  return { candidates, index };
}

/** What all skills are compared with: made once. */
interface Given {
  /** The words of the prompt, as they separate names. */
  readonly words: readonly string[];
  /** How the prompt writes each word that an index knows. */
  readonly written: ReadonlyMap<string, string>;
  /** Those of some globs that a file fits. */
  readonly fitting: (globs: readonly string[]) => readonly string[];
}

function evidenceFor(skill: Skill, given: Given, words: readonly Match[], rarest: number): SkillMatch {
  const ofWords = words.reduce(
    (sum, { word, score }) => sum + (score / rarest) * (isCommonWord(word) ? COMMON_SHARE : 1),
    0,
  );
  const globs = given.fitting(skill.paths);
  const isMentioned = mentions(given.words, skill);
  return {
    skill,
    score: round(ofWords + PATH_SCORE * Math.min(globs.length, 2) + (isMentioned ? MENTION_SCORE : 0)),
    reason: [
      ...(isMentioned ? ["named in the prompt"] : []),
      ...(words.length > 0 ? [`words: ${explained(words.slice(0, 6), given.written)}`] : []),
      ...(globs.length > 0 ? [`files: ${globs.slice(0, 3).join(", ")}`] : []),
    ].join("; "),
  };
}

/** The words of a prompt that were found, as they are written there, and where. */
function explained(matches: readonly Match[], written: ReadonlyMap<string, string>): string {
  return matches.map(({ word, fields }) => `${written.get(word) ?? word} (${fields.join(", ")})`).join(", ");
}

function writtenIn(prompt: string): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  for (const word of prompt.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])
    for (const token of tokensOf(word)) if (!written.has(token)) written.set(token, word);
  return written;
}

/** Finds the globs that files fit, until the steps for all skills are used up. */
function globMatcher(files: readonly string[]): Given["fitting"] {
  const known = files.slice(0, MAX_FILES).filter((file) => file.length <= 1_000);
  const characters = known.reduce((sum, { length }) => sum + length, GLOB_STEPS);
  let left = MAX_STEPS;
  return (globs) =>
    globs.filter((glob) => {
      left -= glob.length * characters;
      if (known.length === 0 || left < 0) return false;
      const matches = compilePattern(glob);
      return matches !== undefined && known.some(matches);
    });
}

function wordsOf(prompt: string): readonly string[] {
  return prompt.toLowerCase().split(/[\s,;:!?"'`()]+|\.(?=\s|$)/);
}

/** Whether a prompt names a skill as such: `/name`, `name skill`, `skill name`, or a name of several words to the letter. */
function mentions(words: readonly string[], { id, name }: Skill): boolean {
  return [id, name].some((full) => {
    const wanted = full.toLowerCase();
    const isDistinct = /[-_/.]/.test(wanted);
    return words.some((word, index) => {
      if (word === `/${wanted}`) return true;
      if (word !== wanted) return false;
      return isDistinct || words[index + 1] === "skill" || words[index - 1] === "skill";
    });
  });
}

function round(score: number): number {
  return Math.round(score * 1_000) / 1_000;
}
