import { describe, expect, test } from "vitest";
import { TaskItem } from "../protocol/families.ts";
import { ContextPerceptionEvent } from "../protocol/perception.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import { any, defaulted, list, listOrNothing, map, nullable, optional, struct, text, u32 } from "./schema.ts";

const Everything = struct("Everything", {
  required: text,
  anything: any,
  optional: optional(u32),
  nullable: nullable(u32),
  defaulted: defaulted(u32.default(7)),
  list: listOrNothing(text),
});
const least = { required: "r", anything: null };

describe("a member that is absent", () => {
  test("is filled in, set to null, or stays away, as its type says", () => {
    expect(decode(Everything, least)).toStrictEqual({
      required: "r",
      anything: null,
      nullable: null,
      defaulted: 7,
      list: [],
    });
  });

  test.each(["required", "anything"])("is missed when it is required: %s", (key) => {
    const { [key]: _, ...rest }: Record<string, unknown> = least;
    expect(() => decode(Everything, rest)).toThrow(`missing field \`${key}\``);
  });

  test("undefined is absent", () => {
    expect(() => decode(Everything, { ...least, required: undefined })).toThrow("missing field `required`");
    expect(decode(Everything, { ...least, optional: undefined })).not.toHaveProperty("optional");
  });
});

describe("a member that is null", () => {
  test("means absent where absence is allowed without a default", () => {
    const read = decode(Everything, { ...least, optional: null, nullable: null });
    expect(read).not.toHaveProperty("optional");
    expect(read.nullable).toBeNull();
  });

  test.each([
    ["required", "invalid type: null, expected a string"],
    ["defaulted", "invalid type: null, expected u32"],
    ["list", "invalid type: null, expected a sequence"],
  ])("is wrong for a %s one", (key, message) => {
    expect(() => decode(Everything, { ...least, [key]: null })).toThrow(message);
  });
});

describe("written", () => {
  test("nulls and defaults are there, absent members and empty lists are not", () => {
    expect(encode(Everything, least)).toBe('{"anything":null,"defaulted":7,"nullable":null,"required":"r"}');
  });

  test("lists with something in them are", () => {
    const value = { ...least, list: ["a"], optional: 0 };
    expect(encode(Everything, value)).toBe(
      '{"anything":null,"defaulted":7,"list":["a"],"nullable":null,"optional":0,"required":"r"}',
    );
  });

  test("empty lists go at every level, those that are not the type's own stay", () => {
    const task = {
      id: "t",
      title: "T",
      status: "pending",
      evidence: [],
      depends_on: [],
      metadata: { list: [] },
    };
    const Tasks = struct("Tasks", {
      tasks: list(TaskItem),
      one: optional(TaskItem),
      other: nullable(TaskItem),
    });
    expect(encode(Tasks, { tasks: [task], one: task })).toBe(
      '{"one":{"id":"t","metadata":{"list":[]},"status":"pending","title":"T"},"other":null,' +
        '"tasks":[{"id":"t","metadata":{"list":[]},"status":"pending","title":"T"}]}',
    );
  });

  test("a required list is written even when empty", () => {
    expect(encode(struct("Tags", { tags: list(text) }), { tags: [] })).toBe('{"tags":[]}');
  });

  test("so is an empty list where another one is the default", () => {
    const Tags = struct("Tags", { tags: defaulted(list(text).default(["a"])) });
    expect(encode(Tags, { tags: [] })).toBe('{"tags":[]}');
    expect(encode(Tags, {})).toBe('{"tags":["a"]}');
  });

  test("a map in a map keeps its members, a struct drops strangers", () => {
    const Held = struct("Held", { metadata: optional(map) });
    expect(encode(Held, { metadata: { b: { y: 1, x: 2 } }, stranger: 1 })).toBe(
      '{"metadata":{"b":{"x":2,"y":1}}}',
    );
  });
});

describe("of several faults", () => {
  const Four = struct("Four", { d: text, b: u32, c: text, a: u32 });

  test.each([
    ["the first present member by key, not by declaration", { d: 1, b: "x", c: 2, a: "y" }, ["a"]],
    ["a present one before a missing one", { d: "ok", c: 5 }, ["c"]],
    ["a bad one late in the alphabet before a missing one", { b: 1, c: "ok", d: 9 }, ["d"]],
  ])("%s is reported", (_, value, path) => {
    expect(() => decode(Four, value)).toThrow(expect.objectContaining({ path }));
  });

  test("among missing ones, the first as declared", () => {
    expect(() => decode(Four, { a: 1 })).toThrow("missing field `d`");
    expect(() => decode(Four, { a: 1, d: "ok" })).toThrow("missing field `b`");
  });

  test("inside a member the same order holds", () => {
    const Outer = struct("Outer", { z: Four, y: u32 });
    expect(() => decode(Outer, { z: { d: 1, b: 1, c: 2, a: 1 } })).toThrow(
      expect.objectContaining({ path: ["z", "c"] }),
    );
    expect(() => decode(Outer, { z: { d: 1 }, y: "x" })).toThrow(expect.objectContaining({ path: ["y"] }));
  });

  test("keys are ordered by their bytes", () => {
    const Keys = struct("Keys", { "\u{1f600}": u32, "\uffee": u32 });
    expect(() => decode(Keys, { "\u{1f600}": "x", "\uffee": "x" })).toThrow(
      expect.objectContaining({ path: ["\uffee"] }),
    );
  });
});

describe("defaults", () => {
  const event = {
    session_id: "s",
    intent: "locate",
    target: { location: { path: "p", location_type: "file" } },
    context: { workspace: "w" },
  };

  test("are those of the protocol", () => {
    expect(decode(ContextPerceptionEvent, event)).toStrictEqual({
      ...event,
      domain: "general",
      preferred_modality: "any",
      urgency: "normal",
      freshness: "static",
      constraints: { max_results: null, max_context_length: null, include_sources: true },
    });
  });

  test("are new for every value, so that changing one changes no other", () => {
    const first = decode(ContextPerceptionEvent, event);
    first.constraints.include_sources = false;
    expect(decode(ContextPerceptionEvent, event).constraints.include_sources).toBe(true);
    const task = { id: "t", title: "T", status: "pending" };
    decode(TaskItem, task).depends_on.push("x");
    expect(decode(TaskItem, task).depends_on).toEqual([]);
  });

  test("inside a default's own members are filled in too", () => {
    const read = decode(ContextPerceptionEvent, { ...event, constraints: { max_results: 3 } });
    expect(read.constraints).toStrictEqual({
      max_results: 3,
      max_context_length: null,
      include_sources: true,
    });
  });
});

describe("an array in place of an object", () => {
  const Loose = struct("Loose", { a: text, b: optional(text), c: defaulted(u32.default(7)) });

  test("may leave out only what has a default", () => {
    expect(decode(Loose, ["a", null])).toStrictEqual({ a: "a", c: 7 });
    expect(() => decode(Loose, ["a"])).toThrow("invalid length 1, expected struct Loose with 3 elements");
  });
});
