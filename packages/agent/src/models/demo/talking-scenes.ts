import { quotedIn } from "../../control/defaults/intent/target.ts";
import { calling, refused, type Scene, type Step, saying, WHO } from "./step.ts";

const MOST = 10_000;
/** A short count is a test of patience for nobody. */
const COUNT_AT_ONCE = 50;
const COUNT_PACE = 20;

/** Says what it is. */
export const introduce: Scene = () =>
  saying(
    [
      "I am the demo model: no key, no network, and no more sense than a script. What I do with tools is real, and so are the verdicts on it. Try:",
      "- what is in this folder",
      "- read README.md and summarise it",
      "- write a file notes.txt that says hello",
      "- run the tests",
      "- read .env",
      "- delete everything",
      "- remember that the port is 18789; and later: what do you remember about the port?",
      "For a model that thinks, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or choose one by REINS_MODEL.",
    ].join("\n"),
  );

/** Counts, which takes as long as one likes. */
export const count: Scene = (words) => {
  const to = Math.min(Number(/\bcount (?:up )?to (\d+)/i.exec(words)?.[1] ?? 10), MOST);
  const numbers = Array.from({ length: to }, (_, index) => index + 1).join(" ");
  return { say: numbers, ...(to > COUNT_AT_ONCE && { pace: COUNT_PACE }) };
};

/** Keeps a fact for later, or says which it was told. */
export const remember: Scene = (words, [kept], context) => {
  if (/^\s*(?:what|which|who|where|do you)\b/i.test(words)) return recall(context);
  const content = /\b(?:that|this|:)\s+(.+)$/is.exec(words)?.[1]?.trim() ?? words.trim();
  if (!kept) return calling("I will keep that in mind.\n", "remember", { content });
  return kept.isError ? refused(kept) : saying("Noted.");
};

const RECALLED = /^Remembered from earlier sessions:\n((?:- .+\n?)+)/m;

function recall(context: string): Step {
  const [, facts] = RECALLED.exec(context) ?? [];
  if (facts === undefined)
    return saying('I remember nothing about that. Say, for example, "remember that the port is 18789".');
  return saying(`This is what I was told to remember:\n${facts.trim()}`);
}

/** Reads the mail, or sends some. */
export const mail: Scene = (words, [result]) => {
  const outgoing = /\bto\s+@?([\w.:-]+)\b[\s,]*(?:saying|that|about|:)?\s*(.+)$/is.exec(words);
  if (/\b(send|write|tell|notify)\b/i.test(words) && outgoing) {
    const [, to = "", rest = ""] = outgoing;
    const body = quotedIn(rest)[0] ?? rest.trim();
    if (!result)
      return calling(`I will write to ${to}.\n`, "send_message", { to, subject: body.slice(0, 60), body });
    return result.isError ? refused(result) : saying(`The message to ${to} is on its way.`);
  }
  if (!result) return calling("Let me see what has come in.\n", "read_mailbox", {});
  return result.isError ? refused(result) : saying(`This is my mail:\n${result.text}`);
};

/** Reads the board, or posts on it. */
export const board: Scene = (words, [result]) => {
  const post = /\bpost\b/i.test(words)
    ? (quotedIn(words)[0] ?? /\bpost\s+(.+?)\s+(?:on|to) the\b/is.exec(words)?.[1])
    : undefined;
  if (post !== undefined) {
    if (!result) return calling("I will post that.\n", "post_board", { content: post });
    return result.isError ? refused(result) : saying("It is on the board.");
  }
  if (!result) return calling("Let me read the board.\n", "read_board", {});
  return result.isError ? refused(result) : saying(`The board says:\n${result.text}`);
};

/** Has somebody else do it. */
export const delegate: Scene = (words, [result]) => {
  const prompt = quotedIn(words)[0] ?? /\b(?:to|that)\s+(.+)$/is.exec(words)?.[1]?.trim();
  if (prompt === undefined)
    return saying('What is it to do? Say, for example, "spawn a subagent to list the files".');
  const [, agent] = /\b(?:an?|the) ([a-z][a-z0-9-]*) sub-?agent\b/i.exec(words) ?? [];
  const given = { prompt, ...(agent !== undefined && { agent }) };
  if (!result) return calling("I will have somebody look into that.\n", "spawn_subagent", given);
  return result.isError ? refused(result) : saying(`It reports:\n${result.text.replace(WHO, "").trim()}`);
};
