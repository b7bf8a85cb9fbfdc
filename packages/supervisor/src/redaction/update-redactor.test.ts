import { ManualClock } from "@reins/kit/manual-clock";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut, drawn, places, secretCases } from "../../test/secret-corpus.ts";
import { Redactor } from "./redactor.ts";
import { membersOf, type Update, UpdateRedactor } from "./update-redactor.ts";

const TOKEN = `ghp_${"0123456789abcdefghijABCDEFGHIJ012345"}`;
const redactor = Redactor.create();
const withValue = Redactor.create({ values: ["hunter2!xyz"] });

const say = (text: string, messageId?: string, kind = "agent_message_chunk"): Update => ({
  sessionUpdate: kind,
  content: { type: "text", text },
  ...(messageId !== undefined && { messageId }),
});
const think = (text: string) => say(text, undefined, "agent_thought_chunk");
const textOf = (update: Update) => String(membersOf(update.content).text ?? "");

function watch(by = redactor) {
  const clock = new ManualClock();
  const late: Update[] = [];
  const updates = new UpdateRedactor(by, { clock, onLate: (some) => void late.push(...some) });
  return { clock, late, updates, push: (...some: Update[]) => some.flatMap((one) => updates.push(one)) };
}

describe("the chunks of a message", () => {
  test("pass as they are if there is nothing to hide", () => {
    const { updates } = watch();
    const chunk = { ...say("reads a file", "m1"), _meta: { trace: "abc" }, other: [1] };
    expect(updates.push(chunk)).toEqual([chunk]);
    expect(updates.push(chunk)[0]).toBe(chunk);
  });

  test("hide a secret that is split between them", () => {
    const { push } = watch();
    expect(
      push(say(`use ${TOKEN.slice(0, 9)}`), say(TOKEN.slice(9, 12)), say(TOKEN.slice(12)), say(" now")),
    ).toEqual([say("use ghp_"), say("[redacted]"), say(" now")]);
  });

  test("belong to the message that is named, of its kind", () => {
    const { push, updates } = watch(withValue);
    const shown = push(say("hunter", "m1"), say("2!xyz", "m2"), say("hunter2", undefined), think("!xyz"));
    expect([...shown, ...updates.end()].map(textOf)).toEqual(["[redacted]", "2!xyz", "[redacted]", "!xyz"]);
    expect(push(say("a", "m1"), say("b", "m2"), say("hun", "m1"), say("ter2!xyz", "m1")).map(textOf)).toEqual(
      ["a", "b", "[redacted]"],
    );
  });

  test("keep what else they say, even when their text is held back", () => {
    const { push } = watch(withValue);
    const chunk = { ...say("hunter2"), _meta: { usage: 7, key: TOKEN } };
    expect(push(chunk, say("!xyz"))).toEqual([
      { ...say(""), _meta: { usage: 7, key: "ghp_[redacted]" } },
      say("[redacted]"),
    ]);
  });

  test("show what they held before anything that comes after it", () => {
    const { push } = watch();
    const call = { sessionUpdate: "tool_call", toolCallId: "t1", title: "Read" };
    expect(push(say("the key is gh"), say("p_01"), call, say("2 no"))).toEqual([
      say("the key is gh"),
      say("p_"),
      say("01"),
      call,
      say("2 no"),
    ]);
  });

  test("with pictures in them pass", () => {
    const { push } = watch();
    const picture = {
      sessionUpdate: "agent_message_chunk",
      content: { type: "image", data: "aGk=", mimeType: "image/png" },
    };
    expect(push(say("one"), picture, say("two"))).toEqual([say("one"), picture, say("two")]);
  });
});

describe("text that is held back", () => {
  test("is shown after fifty milliseconds without another piece", () => {
    const { push, clock, late } = watch();
    expect(push(say("see ghp_0123", "m1"))).toEqual([say("see ghp_", "m1")]);
    clock.advance(49);
    expect(late).toEqual([]);
    clock.advance(1);
    expect(late).toEqual([say("0123", "m1")]);
    expect(push(say(" is short", "m1"))).toEqual([say(" is short", "m1")]);
  });

  test("waits anew after each piece of it", () => {
    const { push, clock, late } = watch();
    push(say("ghp_01"));
    clock.advance(40);
    push(say("23"));
    clock.advance(40);
    expect(late).toEqual([]);
    clock.advance(10);
    expect(late).toEqual([say("0123")]);
  });

  test("is hidden if it has begun like a secret, and so is the rest of it", () => {
    const { push, clock, late } = watch();
    push(say(TOKEN.slice(0, 20)));
    clock.advance(50);
    expect(late).toEqual([say("[redacted]")]);
    expect(push(say(TOKEN.slice(20)), say(" ok"))).toEqual([say(" ok")]);
  });

  test("comes with the end of the turn, exactly, and nothing comes later", () => {
    const { push, clock, late, updates } = watch();
    push(say(TOKEN.slice(0, 20)));
    expect(updates.end()).toEqual([say(TOKEN.slice(4, 20))]);
    clock.advance(1_000);
    expect(late).toEqual([]);
    expect(updates.end()).toEqual([]);
  });

  test("is never of more texts than can be kept in mind", () => {
    const { push, updates } = watch(withValue);
    for (let message = 0; message < 1_000; message += 1) push(say("hunter2!", `m${message}`));
    expect(updates.flush().map(textOf)).toEqual(["[redacted]"]);
    expect(updates.end()).toEqual([]);
  });
});

describe("other updates", () => {
  test("are redacted wherever they have text", () => {
    const { push } = watch();
    const call = {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      status: "completed",
      title: `curl -H "Authorization: Bearer ${TOKEN}"`,
      content: [
        { type: "content", content: { type: "text", text: `token: ${TOKEN}` } },
        { type: "diff", path: "/w/.env", oldText: `A=${TOKEN}`, newText: "DB_PASSWORD=correcthorse\n" },
        { type: "terminal", terminalId: "term1" },
      ],
      rawInput: { command: "login", password: "hunter22", env: [{ name: "API_KEY", value: "abcd1234" }] },
      rawOutput: { stdout: `{"access_token":"0123456789abcdef"}`, exitCode: 0 },
      locations: [{ path: "/w/.env", line: 3 }],
    };
    const plan = {
      sessionUpdate: "plan",
      entries: [{ content: `set ${TOKEN}`, priority: "high", status: "pending" }],
    };
    expect(push(call, plan)).toEqual([
      {
        ...call,
        title: 'curl -H "Authorization: Bearer [redacted]"',
        content: [
          { type: "content", content: { type: "text", text: "token: [redacted]" } },
          { type: "diff", path: "/w/.env", oldText: "A=ghp_[redacted]", newText: "DB_PASSWORD=[redacted]\n" },
          { type: "terminal", terminalId: "term1" },
        ],
        rawInput: {
          command: "login",
          password: "[redacted]",
          env: [{ name: "API_KEY", value: "[redacted]" }],
        },
        rawOutput: { stdout: `{"access_token":"[redacted]"}`, exitCode: 0 },
      },
      { ...plan, entries: [{ content: "set ghp_[redacted]", priority: "high", status: "pending" }] },
    ]);
  });

  test("of a call that goes on hide what may become a secret", () => {
    const { push } = watch();
    const output = (text: string, status: string) => ({
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      status,
      content: [{ type: "content", content: { type: "text", text } }],
    });
    expect(
      push(output(`out ${TOKEN.slice(0, 20)}`, "in_progress"), output("out ghp_012345678901", "completed")),
    ).toEqual([output("out ghp_[redacted]", "in_progress"), output("out ghp_012345678901", "completed")]);
  });

  test("that carry a terminal's output on are redacted across their borders", () => {
    const { push } = watch(withValue);
    const output = (data: string) => ({
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      _meta: { terminal_output: { terminal_id: "term1", data } },
    });
    const chunk = (data: string) => ({ sessionUpdate: "terminal_output_chunk", terminalId: "term2", data });
    expect(push(output("$ hunter"), output("2!xyz\n"), chunk("hunter2"), chunk("!xyz\n"))).toEqual([
      output("$ "),
      output("[redacted]\n"),
      chunk("[redacted]\n"),
    ]);
  });

  test("that are unknown pass, redacted", () => {
    const { push } = watch();
    expect(push({ sessionUpdate: "_x", deep: { list: [TOKEN] } }, {})).toEqual([
      { sessionUpdate: "_x", deep: { list: ["ghp_[redacted]"] } },
      {},
    ]);
  });
});

describe("whatever is said", () => {
  const secret = fc.oneof(...secretCases().map(drawn));
  // A key that is cut short may cost the word after it, if there is a pause.
  const wholeSecret = fc.oneof(
    ...secretCases()
      .filter(({ id }) => id !== "pem-cut-short")
      .map(drawn),
  );
  const property = { seed: 20_261_115, numRuns: 200 };

  test("a message of its own is shown as its whole text would be", () => {
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 3 }), places, (secrets, at) => {
        const { push, updates } = watch();
        const text = secrets.map((one) => one.text).join("\n");
        const shown = [...push(...cut(text, at).map((piece) => say(piece, "m1"))), ...updates.end()];
        expect(shown.map(textOf).join("")).toBe(redactor.text(text));
      }),
      property,
    );
  });

  test("no secret is shown and nothing else is lost, in whatever order pieces, calls and pauses come", () => {
    const step = fc.constantFrom("message", "thought", "call", "pause");
    fc.assert(
      fc.property(wholeSecret, wholeSecret, places, fc.infiniteStream(step), (said, thought, at, steps) => {
        const { push, clock, late, updates } = watch();
        const queues: Record<string, Update[]> = {
          message: cut(`Before.\n${said.text}\nAfter.`, at).map((piece) => say(piece, "m1")),
          thought: cut(`Before.\n${thought.text}\nAfter.`, at).map((piece) => think(piece)),
        };
        const shown: Update[] = [];
        let calls = 0;
        while (Object.values(queues).some((queue) => queue.length > 0)) {
          const next = steps.next().value;
          const update = queues[next]?.shift();
          if (update) shown.push(...push(update));
          else if (next === "pause") clock.advance(50);
          else shown.push(...push({ sessionUpdate: "tool_call", toolCallId: `t${calls++}` }));
          shown.push(...late.splice(0));
        }
        shown.push(...updates.end());
        for (const kind of ["agent_message_chunk", "agent_thought_chunk"]) {
          const text = shown
            .filter((one) => one.sessionUpdate === kind)
            .map(textOf)
            .join("");
          expect(text.startsWith("Before.\n")).toBe(true);
          expect(text.endsWith("\nAfter.")).toBe(true);
          for (const one of [said, thought]) expect(text).not.toContain(one.secret);
        }
        expect(shown.flatMap(({ toolCallId }) => toolCallId ?? [])).toEqual(
          Array.from({ length: calls }, (_, call) => `t${call}`),
        );
      }),
      property,
    );
  });
});
