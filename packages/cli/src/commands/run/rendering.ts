import {
  type AcpContent,
  type AcpToolCall,
  type JsonObject,
  readParams,
  readUpdate,
  reinsMeta,
  type UpdateOf,
} from "@reins/acp";
import { printable, printableLine } from "../../output.ts";

interface Ink {
  dim(text: string): string;
  strong(text: string): string;
  bad(text: string): string;
}

export const PLAIN: Ink = { dim: (text) => text, strong: (text) => text, bad: (text) => text };

export const COLOURED: Ink = {
  dim: (text) => `\u001b[2m${text}\u001b[0m`,
  strong: (text) => `\u001b[1m${text}\u001b[0m`,
  bad: (text) => `\u001b[31m${text}\u001b[0m`,
};

/** Renders the updates of a session as text. */
export class Rendering {
  readonly #ink: Ink;
  readonly #titles = new Map<string, string>();
  readonly #refused = new Set<string>();
  readonly #contentOf = new Map<string, Set<string>>();
  #isAtLineStart = true;

  constructor(ink: Ink) {
    this.#ink = ink;
  }

  show(update: Readonly<JsonObject>): string {
    const { sessionUpdate: kind } = update;
    switch (kind) {
      case "agent_message_chunk":
        return this.#flow(textIn(readUpdate(kind, update).content));
      case "agent_thought_chunk":
        return this.#flow(textIn(readUpdate(kind, update).content), this.#ink.dim);
      case "tool_call":
      case "tool_call_update":
        return this.#call(readUpdate(kind, update));
      case "worker_update":
        return this.#line(this.#ink.dim(workerLine(readUpdate(kind, update))));
      case "tool_search_result":
        return this.#line(this.#ink.dim(searchLine(readUpdate(kind, update))));
      case "plan":
        return this.#line(planLines(readUpdate(kind, update), this.#ink));
      case "notice":
        return this.#line(noticeLine(readUpdate(kind, update), this.#ink));
      case "compaction_update":
        return this.#compaction(readUpdate(kind, update));
      default:
        return "";
    }
  }

  /** Ends an unfinished line, so that the next text begins at the margin. */
  end(): string {
    const before = this.#isAtLineStart ? "" : "\n";
    this.#isAtLineStart = true;
    return before;
  }

  line(text: string): string {
    return this.#line(text);
  }

  #flow(text: string, ink: (text: string) => string = (same) => same): string {
    if (text === "") return "";
    this.#isAtLineStart = text.endsWith("\n");
    return ink(printable(text));
  }

  #call(update: AcpToolCall): string {
    const id = String(update.toolCallId);
    const { title } = update;
    const { verdict, reason, rule, ungated } = reinsMeta(update);
    const lines: string[] = [];
    if (title !== undefined && this.#titles.get(id) !== title) {
      this.#titles.set(id, title);
      lines.push(this.#ink.strong(`• ${printableLine(title)}`));
    }
    if (verdict === "blocked") this.#refused.add(id);
    if (verdict === "blocked" || ungated === true) {
      const words = ungated === true ? "done without asking" : "not allowed";
      const by = rule === undefined ? "" : ` [${printableLine(rule)}]`;
      lines.push(this.#ink.bad(`  ${words}: ${printableLine(String(reason))}${by}`));
    }
    if (update.status === "failed" && verdict === undefined && !this.#refused.has(id))
      lines.push(this.#ink.dim("  failed"));
    lines.push(...this.#contents(id, update).map((line) => this.#ink.dim(`  ${line}`)));
    return lines.length > 0 ? this.#line(lines.join("\n")) : "";
  }

  /** Shows diffs at once and output when the call ended, each once. */
  #contents(id: string, { content: contents, status }: AcpToolCall): readonly string[] {
    const hasEnded = status === "completed" || status === "failed";
    const shown = [
      ...contents.filter(({ type }) => type === "diff").flatMap(diffLines),
      ...(hasEnded && !this.#refused.has(id) ? outputLines(contents) : []),
    ];
    const text = shown.join("\n");
    if (text === "" || this.#contentOf.get(id)?.has(text)) return [];
    this.#contentOf.set(id, (this.#contentOf.get(id) ?? new Set()).add(text));
    return shown;
  }

  #compaction({ status, error }: UpdateOf<"compaction_update">): string {
    if (status === "completed")
      return this.#line(this.#ink.dim("  The conversation was summarized to free context."));
    if (status !== "failed") return "";
    return this.#line(
      this.#ink.bad(`  The conversation could not be summarized: ${printableLine(String(error))}`),
    );
  }

  #line(text: string): string {
    return `${this.end()}${text}\n`;
  }
}

const MOST_LINES = 20;
const LONGEST_LINE = 200;

function noticeLine({ severity, title, description }: UpdateOf<"notice">, ink: Ink): string {
  const text = [title, description].filter((part) => part !== undefined).join(": ");
  return (severity === "error" ? ink.bad : ink.dim)(`  ${printableLine(text)}`);
}

/** The removed and added lines, without the common head and tail. */
function diffLines({ path, oldText, newText }: AcpToolCall["content"][number]): readonly string[] {
  const before = oldText?.split("\n") ?? [];
  const after = newText?.split("\n") ?? [];
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const lines = [
    ...before.slice(head, before.length - tail).map((line) => `- ${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+ ${line}`),
  ];
  return [`${printableLine(String(path))}:${head + 1}`, ...limited(lines)];
}

function outputLines(contents: AcpToolCall["content"]): readonly string[] {
  const texts = contents.filter(({ type }) => type === "content").map(({ content }) => textIn(content));
  return limited(
    texts
      .join("\n")
      .trimEnd()
      .split("\n")
      .filter((line, _, all) => all.length > 1 || line !== ""),
  );
}

function limited(lines: readonly string[]): readonly string[] {
  const shown = lines.slice(0, MOST_LINES).map((line) => printableLine(line.slice(0, LONGEST_LINE)));
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, `… ${more} more lines`] : shown;
}

function searchLine({ promoted, diagnostic }: UpdateOf<"tool_search_result">): string {
  const found = promoted.length === 0 ? "found no tools" : `found the tools ${promoted.join(", ")}`;
  return `  > ${printableLine(diagnostic === undefined ? found : `${found} (${diagnostic})`)}`;
}

function workerLine({ workerName, status, metadata }: UpdateOf<"worker_update">): string {
  const { summary, error } = metadata;
  const words: Readonly<Record<string, string | undefined>> = {
    running: "begins",
    awaiting_input: `waits for an answer: ${String(summary)}`,
    progressed: summary ?? "has its own session",
    completed: "is done",
    failed: `failed: ${String(error)}`,
    cancelled: "was ended",
  };
  return `  > ${printableLine(`${String(workerName)} ${words[String(status)] ?? String(status)}`)}`;
}

function planLines({ entries }: UpdateOf<"plan">, ink: Ink): string {
  const marks: Readonly<Record<string, string | undefined>> = { completed: "x", in_progress: ">" };
  const lines = entries.map(({ status, content }) => {
    return `  [${marks[String(status)] ?? " "}] ${printableLine(String(content))}`;
  });
  return ink.dim(lines.join("\n"));
}

function textIn({ type, text }: AcpContent): string {
  return type === "text" && text !== undefined ? text : `[${String(type)}]`;
}

export interface Question {
  readonly text: string;
  readonly choices: ReadonlyMap<string, string>;
}

/** Keys with our own words: the name of an option may say anything. */
const KEYS: Readonly<Record<string, readonly [key: string, words: string] | undefined>> = {
  allow_once: ["a", "allow once"],
  allow_always: ["A", "always allow this"],
  reject_once: ["d", "reject"],
  reject_always: ["D", "always reject this"],
};

/** Renders a permission request: the exact call, the reason, and the keys. */
export function questionText(params: unknown): Question {
  const { toolCall, options } = readParams("session/request_permission", params);
  const { title, name, rawInput, locations } = toolCall;
  const { reason, approval } = reinsMeta(params);
  const choices = new Map<string, string>();
  const words: string[] = [];
  for (const option of options) {
    const [key, meaning] = KEYS[String(option.kind)] ?? [];
    if (key === undefined || choices.has(key)) continue;
    choices.set(key, String(option.optionId));
    words.push(`${key} = ${meaning}`);
  }
  const lines = [
    `? ${printableLine(String(title ?? name ?? "the agent asks"))}`,
    ...(rawInput === undefined ? [] : [`  with: ${printableLine(JSON.stringify(rawInput))}`]),
    ...locations.map(({ path }) => `  touches: ${printableLine(String(path))}`),
    ...(reason === undefined ? [] : [`  why you are asked: ${printableLine(reason)}`]),
    ...(approval === undefined
      ? []
      : [`  from elsewhere: reins approvals approve ${printableLine(approval)}`]),
    `  ${words.join(", ")}`,
  ];
  return { text: lines.join("\n"), choices };
}
