import { describe, expect, it } from "vitest";
import { notes } from "../test/tables/notes.ts";
import { change } from "./sqlite/sqlite-store.ts";

describe("tables", () => {
  it("name their changes", () => {
    expect(change(notes, "add", { id: "a", text: "b" })).toEqual({
      tables: "notes",
      name: "add",
      args: { id: "a", text: "b" },
    });
  });
});
