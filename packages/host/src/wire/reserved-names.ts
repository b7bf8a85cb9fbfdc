const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const PRINTABLE = /^[\x21-\x7e]+$/;
const BEYOND_ASCII = /[^\x20-\x7e]/;

/** Characters that look alike. */
const ALIKE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  l: "i",
};

/** The names that Reins keeps for itself: no agent speaks by a name that one of these is a word of. */
const OUR_WORDS: ReadonlySet<string> = new Set(["reins", "sandboxagent"].map(skeleton));

/** What only Reins tells clients beside methods in its own namespaces. */
const OUR_METHODS = ["agent/idle", "agent/resume", "session/ended"];
/** What clients and agents say to each other by ACP, which a custom method cannot repeat. */
const ACP_METHODS = [
  ...["session/update", "session/request_permission", "session/prompt", "session/cancel", "session/new"],
  ...["session/load", "session/resume", "session/fork", "session/close", "session/delete", "cancel_request"],
];
const TAKEN_METHODS: ReadonlySet<string> = new Set([...OUR_METHODS, ...ACP_METHODS].map(compact));
const OUR_METHOD_NAMES: ReadonlySet<string> = new Set(OUR_METHODS.map(compact));

/** The kinds of update that only Reins sends, and those that repeat what a person said. */
const OUR_KINDS: ReadonlySet<string> = new Set(["worker_update"].map(compact));
const KINDS_OF_CLIENTS: ReadonlySet<string> = new Set(["user_message_chunk"].map(compact));

/** The one method in our namespaces that is for agents. */
const FOR_AGENTS: ReadonlySet<string> = new Set(["_sandboxagent/session/request_question"]);

/** A name as it is compared with ours: compatible forms are one, what cannot be seen is gone, and case does not count. */
export function foldName(name: string): string {
  return name.normalize("NFKC").replace(INVISIBLE, "").toLowerCase().trim();
}

/**
 * Whether a name could be taken for one of Reins: a word of it is ours, or looks like it. After folding, names of
 * protocols are ASCII; a letter of another alphabet in one is there to look like something else.
 */
export function isOurName(name: string): boolean {
  const folded = foldName(name);
  if (BEYOND_ASCII.test(folded)) return true;
  const inWords = foldName(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2"));
  return [folded, inWords].some((text) => wordsOf(text).some((word) => OUR_WORDS.has(skeleton(word))));
}

/** Whether a method could be taken for one that only Reins, or only ACP itself, speaks. */
export function isOurMethod(method: string): boolean {
  if (FOR_AGENTS.has(method)) return false;
  if (!PRINTABLE.test(method) || isOurName(method)) return true;
  return (method.startsWith("_") ? TAKEN_METHODS : OUR_METHOD_NAMES).has(compact(method));
}

/** Whose words a kind of update tells: an agent's, those of people, or Reins's. */
export function speakerOf(kind: unknown): "agent" | "client" | "reins" {
  if (typeof kind !== "string" || !PRINTABLE.test(kind) || isOurName(kind)) return "reins";
  const letters = compact(kind);
  if (OUR_KINDS.has(letters)) return "reins";
  return KINDS_OF_CLIENTS.has(letters) ? "client" : "agent";
}

function wordsOf(folded: string): readonly string[] {
  return folded.split(/[^a-z0-9]+/);
}

/** The letters of a name, without what separates them. */
function compact(name: string): string {
  return skeleton(wordsOf(foldName(name)).join(""));
}

/** A word in which characters that look alike are one. */
function skeleton(word: string): string {
  return word.replace(/[013457l]/g, (character) => ALIKE[character] ?? character);
}
