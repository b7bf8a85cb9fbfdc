import { partsText } from "../history/entry.ts";
import type { DeclaringMessage, ProtocolService } from "../tools/host-services.ts";
import type { Brief } from "./gather.ts";
import { briefText } from "./prompt-text.ts";
import type { DeclaringView, Turn } from "./turn.ts";

/** Adds the prompt to the transcript of the runtime. */
export async function beginDeclaring(turn: Turn, protocol: ProtocolService): Promise<void> {
  await turn.setting.keep({ kind: "user", ...turn.mark, parts: [...turn.prompt] });
  await protocol.begin(turn.setting.sessionId, partsText(turn.prompt));
  turn.setStatus("executing");
}

/** Reads what the model is shown next; what is new of it goes into the history, for turns in other modes. */
export async function declaringView(
  turn: Turn,
  protocol: ProtocolService,
  brief: Brief,
): Promise<DeclaringView> {
  const { sessionId, system, keep } = turn.setting;
  const { tool, instructions } = await protocol.describe(sessionId);
  const text = await protocol.transcript(sessionId);
  const news = turn.declaring ? await protocol.transcript(sessionId, { unseen: true }) : turn.words;
  if (turn.declaring)
    await keep({ kind: "user", ...turn.mark, parts: [{ type: "text", text: news, context: true }] });
  const images = turn.prompt.filter(({ type }) => type === "image");
  // Its plans are graphs, which the runtime shows.
  const context = briefText({ ...brief, strategy: "none" }, "");
  return {
    system: [system, instructions, turn.instructions, context].filter((part) => part !== "").join("\n\n"),
    messages: [{ role: "user", parts: [{ type: "text", text }, ...images] }],
    tools: [tool],
    news,
  };
}

/** Keeps a message that declared something in the form of the protocol, without the provider's own of calls. */
export async function keepDeclaration(turn: Turn, { text, calls }: DeclaringMessage): Promise<void> {
  const carrier = turn.declaring?.tools[0]?.name;
  const parts = [
    text,
    ...calls.map((call) =>
      call.name === carrier
        ? fenced("json agent-protocol", call.arguments)
        : fenced("shell", `tool ${call.name} <<'JSON'\n${call.arguments}\nJSON`),
    ),
  ];
  await keepText(turn, parts.filter((part) => part.trim() !== "").join("\n\n"));
}

/** Keeps a text as the answer in progress. */
export async function keepText(turn: Turn, text: string): Promise<void> {
  const { keep, model } = turn.setting;
  const { draft } = turn;
  turn.draft = undefined;
  if (!draft || text === "") return;
  await keep({
    kind: "assistant",
    ...turn.mark,
    id: draft.id,
    model: model.info.id,
    parts: [{ type: "text", text }],
  });
}

function fenced(info: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${info}\n${content}\n${fence}`;
}
