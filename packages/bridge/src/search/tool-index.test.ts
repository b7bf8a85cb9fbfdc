import { expect, test } from "vitest";
import { type SearchableTool, ToolIndex } from "./tool-index.ts";

const tool = (name: string, description: string): SearchableTool => ({ name, description, parameters: null });
const found = (index: ToolIndex, query: string) => index.search(query).map(({ name }) => name);

test("an index takes the first tools whole, and of those beyond its budget the beginning, until others go", () => {
  const filler = "x".repeat(3_900);
  const many = Array.from({ length: 1_200 }, (_, index) => tool(`tool${index}`, filler));
  const [first, last] = [tool("first", `${filler} zebra`), tool("last", `lion ${filler} tiger`)];
  const index = new ToolIndex([first, ...many, last]);
  expect([found(index, "zebra"), found(index, "lion"), found(index, "tiger")]).toEqual([
    ["first"],
    ["last"],
    [],
  ]);
  index.replace([first]);
  index.put(last);
  expect(found(index, "tiger")).toEqual(["last"]);
});
