import type { ElicitationAnswer } from "@reins/sdk";
import { describe, expect, it } from "vitest";
import { AskedForms } from "./questions.ts";
import type { TerminalEvent } from "./state.ts";

const schemaOf = (choices?: readonly string[]) => ({
  type: "object",
  properties: { answer: { type: "string", title: "Answer", ...(choices && { enum: choices }) } },
  required: ["answer"],
});

function asked(message: string, schema: unknown, sessionId = "shown") {
  const events: TerminalEvent[] = [];
  const forms = new AskedForms({
    dispatch: (event) => void events.push(event),
    isShown: (session) => session === "shown",
  });
  const elsewhere = new AbortController();
  const answering = forms.ask({ message, schema, sessionId, url: undefined, signal: elsewhere.signal });
  const notes = () => events.flatMap((event) => (event.type === "note" ? [event.text] : []));
  return { forms, elsewhere, answering, notes };
}

describe("a question of an agent", () => {
  it("is shown with its choices, and takes one of them", async () => {
    const { forms, answering, notes } = asked("Tabs or spaces?", schemaOf(["tabs", "spaces"]));
    expect(notes()).toEqual(["The agent asks: Tabs or spaces?", "Answer with /answer: tabs · spaces"]);
    expect(forms.first?.choices).toEqual(["tabs", "spaces"]);
    expect([forms.answer("both"), forms.answer("spaces"), forms.answer("tabs")]).toEqual([
      false,
      true,
      false,
    ]);
    expect(await answering).toEqual({ action: "accept", content: { answer: "spaces" } });
    expect(forms.first).toBeUndefined();
  });

  it("takes any text where it has no choices", async () => {
    const { forms, answering } = asked("Why?", schemaOf());
    expect([forms.answer(""), forms.answer("because")]).toEqual([false, true]);
    expect(await answering).toEqual({ action: "accept", content: { answer: "because" } });
  });

  it("that is answered elsewhere is asked no longer", async () => {
    const { forms, elsewhere, answering, notes } = asked("Why?", schemaOf());
    elsewhere.abort();
    expect(await answering).toBeUndefined();
    expect([forms.first, forms.answer("late"), notes().at(-1)]).toEqual([
      undefined,
      false,
      "No longer asked.",
    ]);
  });

  it("is answered by an answer in its own session alone, and asked again when that is shown", async () => {
    const notes: string[] = [];
    let shown = "a";
    const forms = new AskedForms({
      dispatch: (event) => void (event.type === "note" && notes.push(event.text)),
      isShown: (session) => session === shown,
    });
    const { signal } = new AbortController();
    const ask = (sessionId: string) =>
      forms.ask({ message: `Why, ${sessionId}?`, schema: schemaOf(), sessionId, url: undefined, signal });
    const a = ask("a");
    shown = "b";
    expect([forms.first, forms.answer("too early")]).toEqual([undefined, false]);
    const b = ask("b");
    expect([forms.first?.message, forms.answer("of b")]).toEqual(["Why, b?", true]);
    expect(await b).toEqual({ action: "accept", content: { answer: "of b" } });
    expect(forms.answer("late")).toBe(false);
    shown = "a";
    notes.length = 0;
    forms.askAgain("a");
    expect(notes).toEqual(["The agent asks: Why, a?", "Answer with /answer and a text."]);
    expect(forms.answer("of a")).toBe(true);
    expect(await a).toEqual({ action: "accept", content: { answer: "of a" } });
  });

  it.each<[string, unknown, string]>([
    ["more than one field", { properties: { a: { type: "string" }, b: { type: "string" } } }, "shown"],
    ["a field that is no text", { properties: { a: { type: "boolean" } } }, "shown"],
    ["no form", undefined, "shown"],
    ["another session", schemaOf(), "other"],
  ])("with %s is left to others", async (_, schema, session) => {
    const { forms, answering } = asked("Which?", schema, session);
    const left: ElicitationAnswer = await answering;
    expect([left, forms.first]).toEqual([undefined, undefined]);
  });
});
