import { describe, expect, it } from "vitest";
import type { Conversation, ConversationItem } from "./dialect.ts";
import { type ModelStep, reply, say, scene, scenes } from "./script.ts";

const user = (text: string): ConversationItem => ({ role: "user", text });
const called: ConversationItem = { role: "assistant", text: "", calls: ["Write"] };
const finished = (text: string): ConversationItem => ({ role: "assistant", text, calls: [] });
const result: ConversationItem = { role: "tool", call: "1", text: "done" };

const script = scenes(
  scene("WRITE", reply(say("first")), reply(say("second"))),
  scene("READ", reply(say("reading"))),
);

async function answerTo(...items: ConversationItem[]): Promise<string> {
  const conversation: Conversation = {
    dialect: "anthropic",
    model: "m",
    streamed: false,
    system: "",
    items,
    tools: [],
    usage: { input: 10, output: 5 },
  };
  return contentText(await script(conversation));
}

function contentText(step: ModelStep): string {
  if (step.kind !== "reply") return step.kind;
  return step.parts.map((part) => ("pieces" in part ? part.pieces.join("") : part.kind)).join();
}

describe("a script of scenes", () => {
  it("goes one step further with every result", async () => {
    expect(await answerTo(user("WRITE it"))).toBe("first");
    expect(await answerTo(user("WRITE it"), called, result)).toBe("second");
    expect(await answerTo(user("WRITE it"), called, result, called, result)).toBe("Done.");
  });

  it("answers the last prompt, not an earlier one", async () => {
    expect(await answerTo(user("WRITE it"), called, result, finished("second"), user("READ it"))).toBe(
      "reading",
    );
    expect(await answerTo(user("WRITE it"), called, result, finished("second"), user("WRITE it"))).toBe(
      "first",
    );
    expect(await answerTo(user("WRITE it"), finished("no"), user("thanks"))).toBe("Hello.");
  });

  it("is not led astray by what agents add around a prompt", async () => {
    expect(await answerTo(user("<reminder>x</reminder>\nWRITE it"), user("# Environment"))).toBe("first");
    expect(await answerTo(user("WRITE it"), called, result, user("<reminder>x</reminder>"))).toBe("second");
  });

  it("begins anew after a turn that a refusal has ended", async () => {
    expect(await answerTo(user("WRITE it"), called, result, user("WRITE it"))).toBe("first");
    expect(await answerTo(user("WRITE it"), called, result, user("READ it"))).toBe("reading");
  });

  it("knows a text that stands before a call as part of the same turn", async () => {
    expect(await answerTo(user("WRITE it"), finished("I will."), called, result)).toBe("second");
  });
});
