import type { JsonObject } from "@reins/acp";
import type { ConversationEvent } from "@reins/sdk";
import { describe, expect, it } from "vitest";
import { sampleApproval } from "../../test/sample-approval.ts";
import { type AskedQuestion, EMPTY_STATE, reduce, type State, type TerminalEvent } from "./state.ts";

const after = (events: readonly TerminalEvent[], state: State = EMPTY_STATE) => events.reduce(reduce, state);
const said = (text: string): TerminalEvent => of({ type: "text", text, update: {} });
const of = (event: ConversationEvent): TerminalEvent => ({ type: "conversation", event });
const update = (kind: string, members: JsonObject): TerminalEvent =>
  of({ type: "update", kind, update: members });
const tool = (members: JsonObject): TerminalEvent => of({ type: "tool", call: {} as never, update: members });
const began = (prompt: string, text = "do it"): TerminalEvent =>
  of({ type: "prompt", text, prompt, update: {} });
const question = (key: string): AskedQuestion => ({
  key,
  session: "s",
  call: "t",
  approval: sampleApproval({ id: key }),
});
const kinds = ({ finished }: State) => finished.map(({ kind }) => kind);

describe("a message", () => {
  it("becomes finished paragraph by paragraph while it grows, and whole when something else comes", () => {
    const growing = after([said("One.\n"), said("\nTwo")]);
    expect(growing.finished).toMatchObject([{ kind: "message", text: "One.\n\n", isStart: true }]);
    expect(growing.message).toMatchObject({ text: "Two", isStart: false });
    const closed = after([tool({ toolCallId: "t", title: "List" })], growing);
    expect(closed.finished.at(-1)).toMatchObject({ kind: "message", text: "Two" });
    expect(closed.message).toBeUndefined();
  });

  it("of thoughts and of the answer are two", () => {
    const thought: TerminalEvent = of({ type: "thought", text: "hm", update: {} });
    expect(after([thought, said("yes")])).toMatchObject({
      finished: [{ from: "thought", text: "hm" }],
      message: { from: "agent", text: "yes" },
    });
  });
});

describe("a tool call", () => {
  it("is open until it ends, is a part then, and what comes later changes nothing", () => {
    const _meta = { reins: { verdict: "allowed", rule: "r", enforcement: "asked" } };
    const open = after([tool({ toolCallId: "t", title: "List" }), tool({ toolCallId: "t", _meta })]);
    expect(open.tools).toMatchObject([{ title: "List", verdict: { verdict: "allowed", rule: "r" } }]);
    const ended = after([tool({ toolCallId: "t", status: "completed" })], open);
    expect(ended.tools).toEqual([]);
    expect(ended.finished).toMatchObject([{ kind: "tool", call: { title: "List", status: "completed" } }]);
    expect(after([tool({ toolCallId: "t", status: "failed" })], ended)).toBe(ended);
  });

  it("that did not end is a part when its turn does", () => {
    const queued: TerminalEvent = { type: "queued", prompt: { id: "p", text: "do it" } };
    const running = after([queued, began("p"), tool({ toolCallId: "t", title: "List" })]);
    const state = after([{ type: "turn_ended", prompt: "p", stopReason: "cancelled" }], running);
    expect(state.finished).toMatchObject([
      { kind: "prompt", text: "do it" },
      { kind: "tool", call: { isOver: false } },
      { kind: "note", text: "Cancelled." },
    ]);
    expect(state).toMatchObject({ turn: undefined, tools: [], queue: [] });
  });
});

describe("a call that an agent announces only by asking for it", () => {
  // What it says is in the question.
  const ASKS = {
    toolCallId: "t",
    title: "make all",
    content: [{ type: "content", content: { type: "text", text: "given: make all" } }],
  };
  const asking = after([
    { type: "queued", prompt: { id: "p", text: "do it" } },
    began("p"),
    { type: "asked", question: question("a"), call: ASKS },
  ]);
  const settled: TerminalEvent = { type: "settled", key: "a", note: "Denied.", tone: "bad" };
  const ended: TerminalEvent = { type: "turn_ended", prompt: "p", stopReason: "end_turn" };

  it("is shown while it is asked for, and ends by its name", () => {
    expect(asking.tools).toMatchObject([{ id: "t", title: "make all" }]);
    const over = after([settled, tool({ toolCallId: "t", status: "failed" }), ended], asking);
    expect(over.finished.filter(({ kind }) => kind === "tool")).toMatchObject([
      { call: { title: "make all", status: "failed", content: [] } },
    ]);
  });

  it("leaves nothing behind where the agent says no more of it", () => {
    expect(kinds(after([settled, ended], asking))).toEqual(["prompt", "question", "note"]);
  });
});

describe("prompts", () => {
  const queue: TerminalEvent[] = ["p", "q"].map((id) => ({
    type: "queued",
    prompt: { id, text: `do ${id}` },
  }));

  it("wait in a queue, and each leaves it when its turn begins", () => {
    const state = after([...queue, began("p")]);
    expect(state).toMatchObject({ turn: "p", queue: [{ id: "q" }] });
    expect(
      after([{ type: "turn_ended", prompt: "p", stopReason: "end_turn" }, began("q")], state),
    ).toMatchObject({
      turn: "q",
      queue: [],
    });
  });

  it("that fail before their turn are shown with the reason", () => {
    const state = after([...queue, { type: "turn_failed", prompt: "q", text: "the queue is full" }]);
    expect(state.finished).toMatchObject([
      { kind: "prompt", text: "do q" },
      { kind: "note", tone: "bad", text: "the queue is full" },
    ]);
    expect(state.queue).toMatchObject([{ id: "p" }]);
  });

  it("of other clients show that a turn runs", () => {
    const running = after([
      of({ type: "turn", state: "running", stopReason: undefined }),
      began("x", "theirs"),
    ]);
    expect(running).toMatchObject({ turn: "other", finished: [{ kind: "prompt", text: "theirs" }] });
    expect(
      after([of({ type: "turn", state: "idle", stopReason: "end_turn" })], running).turn,
    ).toBeUndefined();
  });
});

describe("questions", () => {
  const ask = (key: string): TerminalEvent => ({ type: "asked", question: question(key) });

  it("are asked one after the other, each once", () => {
    const state = after([ask("a"), ask("b"), ask("a")]);
    expect(state.questions.map(({ key }) => key)).toEqual(["a", "b"]);
    expect(kinds(state)).toEqual(["question"]);
    const next = after([{ type: "settled", key: "a", note: "Allowed once.", tone: "good" }], state);
    expect(next.finished).toMatchObject([
      { kind: "question", question: { key: "a" } },
      { kind: "note", text: "Allowed once." },
      { kind: "question", question: { key: "b" } },
    ]);
  });

  it("keep their answer next to them, before what came meanwhile", () => {
    const asked = after([ask("a"), { type: "printed", count: 1 }, said("meanwhile\n\n")]);
    const state = after([{ type: "settled", key: "a", note: "Denied.", tone: "bad" }], asked);
    expect(kinds(state)).toEqual(["note", "message"]);
  });

  it("end the answering when they are settled elsewhere, and nothing can be answered without one", () => {
    const answering: TerminalEvent = { type: "answering", isAnswering: true };
    expect(after([answering]).isAnswering).toBe(false);
    const state = after([ask("a"), ask("b"), answering]);
    expect(state.isAnswering).toBe(true);
    expect(after([{ type: "settled", key: "b", note: "", tone: "note" }], state).isAnswering).toBe(true);
    expect(after([{ type: "settled", key: "a", note: "", tone: "note" }], state).isAnswering).toBe(false);
  });

  it("turn notes into a hint, because nothing is printed below them", () => {
    const state = after([ask("a"), { type: "note", tone: "warn", text: "too early" }]);
    expect(state.hint).toBe("too early");
    expect(kinds(state)).toEqual(["question"]);
  });
});

describe("what an agent reports", () => {
  it("is kept: its commands, its mode, what was used and what it costs", () => {
    const modes = {
      currentModeId: "default",
      availableModes: [{ id: "default" }, { id: "plan", name: "Plan" }],
    };
    const state = after([
      { type: "settings", settings: { modes } },
      update("current_mode_update", { currentModeId: "plan" }),
      update("available_commands_update", {
        availableCommands: [{ name: "review", description: "reviews" }, {}],
      }),
      update("usage_update", { used: 1_500, size: 32_000, cost: { amount: 0.25, currency: "USD" } }),
    ]);
    expect(state.settings).toMatchObject([{ id: "mode", current: "plan" }]);
    expect(state.commands).toEqual([{ name: "review", about: "reviews" }]);
    expect(state).toMatchObject({ usage: { used: 1_500, size: 32_000 }, cost: { amount: 0.25 } });
  });

  it("of a kind that is not known changes nothing", () => {
    const state = after([update("of_tomorrow", { some: 1 })]);
    expect(state).toEqual(EMPTY_STATE);
  });

  it("is over when the session has ended: nothing waits any more", () => {
    const state = after([
      { type: "queued", prompt: { id: "p", text: "do it" } },
      { type: "asked", question: question("a") },
      of({ type: "session_ended" }),
      of({ type: "session_ended" }),
    ]);
    expect(state).toMatchObject({ isOver: true, queue: [], questions: [] });
    expect(kinds(state).filter((kind) => kind === "note")).toHaveLength(1);
  });
});
