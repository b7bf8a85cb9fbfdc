/** As long as what is drawn at random has to be to count. */
const SHORTEST = 20;
const WORDS = new RegExp(`[A-Za-z0-9+/_=-]{${SHORTEST},}`, "g");
/** Bits of each character: English has two or three, base64 drawn at random comes near to five in forty characters. */
const RANDOM = 3.6;
/** Hashes, identifiers and the like: as random as keys, and no secret. */
const PUBLIC = /^(?:sha(?:1|256|384|512)-|[0-9a-f]+$|[0-9A-F]+$|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9/_=-]+$)/;

/** Whether something in a text looks as if drawn at random. That makes it worth a look, and no reason to take it out. */
export function looksSecret(text: string): boolean {
  for (const [word] of text.matchAll(WORDS)) if (isRandom(word)) return true;
  return false;
}

function isRandom(word: string): boolean {
  if (PUBLIC.test(word) || word.split("/").length > 3) return false;
  if (!/\d/.test(word) || !/[A-Z]/.test(word) || !/[a-z]/.test(word)) return false;
  return bitsPerCharacter(word) >= RANDOM;
}

/** Shannon's entropy. */
function bitsPerCharacter(word: string): number {
  const counts = new Map<string, number>();
  for (const one of word) counts.set(one, (counts.get(one) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}
