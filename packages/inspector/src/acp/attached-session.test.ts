import { expect, test } from "vitest";
import { AttachedSession } from "./attached-session.ts";

/** A session whose frames a test draws by hand. */
function newSession() {
  const frames: (() => void)[] = [];
  let now = 0;
  const session = new AttachedSession("s", { schedule: (run) => frames.push(run), now: () => ++now });
  const draw = () => {
    for (const run of frames.splice(0)) run();
  };
  const texts = () =>
    session.view
      .current()
      .conversation.items.map((item) => (item.kind === "message" ? item.text : item.kind));
  return { session, draw, texts, frames };
}

const says = (text: string, prompt?: string) => ({
  sessionUpdate: prompt === undefined ? "agent_message_chunk" : "user_message_chunk",
  content: { type: "text", text },
  ...(prompt !== undefined && { _meta: { reins: { prompt } } }),
});

test("applies any number of updates once per frame", () => {
  const { session, draw, texts, frames } = newSession();
  session.created({});
  let changes = 0;
  session.view.subscribe(() => {
    changes += 1;
  });
  for (let index = 0; index < 1_000; index += 1) session.receive(says("x"));
  expect(frames).toHaveLength(1);
  expect(texts()).toEqual([]);
  draw();
  expect(texts()).toEqual(["x".repeat(1_000)]);
  expect(changes).toBe(1);
});

test("replaces the conversation when a replay is complete, and appends live updates without a gap", () => {
  const { session, draw, texts } = newSession();
  session.created({});
  session.receive(says("one "));
  draw();
  session.cut();
  session.startReplay();
  session.receive(says("one "));
  session.receive(says("two "));
  draw();
  expect(texts()).toEqual(["one "]);
  session.finishReplay({});
  session.receive(says("three"));
  draw();
  expect(texts()).toEqual(["one two three"]);
});

test("tracks turns of other clients, and of replayed ones only the last", () => {
  const { session } = newSession();
  const stands = () => [session.view.current().turn, session.view.current().changes];
  session.startReplay();
  for (const state of ["running", "idle", "running", "running"] as const) session.turn(state);
  expect(stands()).toEqual([undefined, 0]);
  session.finishReplay({});
  expect(stands()).toEqual(["running", 1]);
  session.receive(says("over"));
  session.turn("idle");
  expect(stands()).toEqual(["idle", 2]);
  expect(session.view.current().conversation.items).toHaveLength(1);
  session.end();
  expect(stands()).toEqual(["idle", 3]);
});

test("keeps a prompt queued until the log shows that its turn started", () => {
  const { session, draw } = newSession();
  session.created({});
  session.addPrompt("p1", "hello");
  expect(session.view.current()).toMatchObject({ waiting: [{ id: "p1", state: "sent" }], running: [] });
  session.receive(says("hello", "p1"));
  draw();
  expect(session.view.current()).toMatchObject({ waiting: [], running: ["p1"] });
  session.removePrompt("p1");
  expect(session.view.current().running).toEqual([]);
});

test("marks a prompt as unsure if the log lacks it after a lost connection", () => {
  const { session } = newSession();
  session.created({});
  session.addPrompt("p1", "arrived");
  session.addPrompt("p2", "maybe not");
  session.cut();
  session.startReplay();
  session.receive(says("arrived", "p1"));
  session.finishReplay({});
  expect(session.view.current().waiting).toEqual([{ id: "p2", text: "maybe not", state: "unsure" }]);
});

test("keeps a prompt of the current connection queued across a replay", () => {
  const { session } = newSession();
  session.startReplay();
  session.addPrompt("p1", "early");
  session.addPrompt("p2", "early too");
  session.receive(says("early", "p1"));
  session.finishReplay({}, (prompt) => prompt === "p1" || prompt === "p2");
  expect(session.view.current()).toMatchObject({
    waiting: [{ id: "p2", text: "early too", state: "sent" }],
    running: ["p1"],
  });
});

test("prefers current settings to replayed ones", () => {
  const { session } = newSession();
  const availableModes = [
    { id: "plan", name: "Plan" },
    { id: "code", name: "Code" },
  ];
  session.startReplay();
  session.receive({ sessionUpdate: "current_mode_update", currentModeId: "plan" });
  session.finishReplay({ modes: { currentModeId: "code", availableModes } });
  expect(session.view.current().conversation.settings).toMatchObject([{ id: "mode", current: "code" }]);
});

test("removes questions with the connection that brought them", () => {
  const { session } = newSession();
  const answer = () => undefined;
  session.addQuestion({ kind: "elicitation", id: "1", message: "?", schema: {}, url: undefined, answer });
  expect(session.view.current().questions).toHaveLength(1);
  session.cut();
  expect(session.view.current().questions).toEqual([]);
});
