import { expect, it } from "vitest";
import { table } from "./table.ts";

it("pads columns to their widest cell and leaves no blanks at the end", () => {
  const rows = [["stdio", "20"], ["http", "1,054"], ["none"]];
  expect(table(["what", "µs"], rows, ["left", "right"])).toBe(
    ["what      µs", "-----  -----", "stdio     20", "http   1,054", "none"].join("\n"),
  );
});
