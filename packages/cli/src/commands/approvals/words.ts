import type { Approval } from "@reins/api";
import { visibleJson } from "@reins/kit";
import { formatTime } from "../../time.ts";

const PLAIN = /^[\w@%+=:,./~^#-]+$/;
const PLAIN_WORDS = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;

/** Quotes text from others unless it is plain, with hidden characters spelled out. */
export function exact(text: string): string {
  return PLAIN.test(text) ? text : visibleJson(text);
}

/** The same for a sentence at the end of a line, where spaces are plain. */
export function exactWords(text: string): string {
  return PLAIN_WORDS.test(text) ? text : visibleJson(text);
}

/** Splits text into lines and spells out hidden characters in each. */
export function exactLines(text: string): string[] {
  return text.split("\n").map((line) =>
    // A quoted text escapes only quotes and backslashes, beside hidden characters.
    visibleJson(line)
      .slice(1, -1)
      .replace(/\\(["\\])/g, "$1"),
  );
}

type Effect = Approval["facts"]["effects"][number];

export function effectWords(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `read ${exact(effect.path)} (${effect.place})`;
    case "write":
      return `write ${exact(effect.path)} (${effect.place})${effect.destroys ? ", what is there is lost" : ""}`;
    case "exec":
      return `run ${[effect.command, ...effect.arguments].map(word).join(" ")}${effect.opaque ? " (opaque)" : ""}`;
    case "net":
      return `reach ${effect.host === "*" ? "any host" : exact(effect.host)}`;
  }
}

export function shortEffect(effect: Effect): string {
  if (effect.kind === "read" || effect.kind === "write")
    return `${effect.kind} ${exact(effect.inside ?? effect.path)}`;
  return effectWords(effect);
}

function word(text: string | null): string {
  return text === null ? "(known only when it runs)" : exact(text);
}

type Facts = Pick<Approval["facts"], "tool" | "effects" | "opaque" | "arguments">;

/** Summarizes an action on one line: its effects where they are known, else the arguments. */
export function actionSummary({ tool, effects, opaque, arguments: given }: Facts): string {
  const does = opaque || effects.length === 0 ? argumentSummary(given) : effects.map(shortEffect).join("; ");
  return `${exact(tool)}: ${does}`;
}

function argumentSummary(given: unknown): string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return visibleJson(given);
  const members = Object.entries(given).map(([name, value]) => {
    return `${exact(name)} ${typeof value === "string" ? exact(value) : visibleJson(value)}`;
  });
  return members.length > 0 ? members.join("; ") : "given nothing";
}

type Answer = Approval["answers"][number];

const SAID: Readonly<Record<Answer["decision"], string>> = {
  allow_once: "allowed it once",
  allow_always: "allowed it always",
  deny: "denied it",
};

export function answerWords({ by, decision, note, at }: Answer): string {
  return `${exact(by)} ${SAID[decision]} at ${formatTime(at)}${note === undefined ? "" : `: ${exactWords(note)}`}`;
}

export function quorumWords({ answers, quorum }: Pick<Approval, "answers" | "quorum">): string {
  return quorum === 1 ? "one person decides" : `${answers.length} of ${quorum} people agreed so far`;
}

export function approverWords({
  approvers,
  four_eyes,
  quorum,
  user,
  asked_by,
}: Pick<Approval, "approvers" | "four_eyes" | "quorum" | "user" | "asked_by">): string {
  const roles = approvers ? `, with the role ${approvers.map(exact).join(" or ")}` : "";
  const asking = [user, ...(asked_by === undefined ? [] : [asked_by])].map(exact).join(" or ");
  return `${roles}${four_eyes || quorum > 1 ? `, not ${asking}` : ""}`;
}
