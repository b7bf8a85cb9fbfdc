import { describe, expect, it } from "vitest";
import { change } from "./tables.ts";
import { notes } from "./testing/notes.ts";

describe("tables", () => {
  it("name their changes", () => {
    expect(change(notes, "add", { id: "a", text: "b" })).toEqual({
      tables: "notes",
      name: "add",
      args: { id: "a", text: "b" },
    });
  });
});
