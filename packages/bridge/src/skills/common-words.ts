import { stem } from "../search/stem.ts";

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
export function isCommonWord(word: string): boolean {
  return COMMON.has(word) || /^(?:\p{N}+|[a-z])$/u.test(word);
}
