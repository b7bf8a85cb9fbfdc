import { expect, test } from "vitest";
import { pageOf } from "./page.ts";

const all = Array.from({ length: 5 }, (_, index) => ({ id: `i${index}` }));
const read = async (limit: number) => all.slice(0, limit);

test("a page that is not the last says where the next one begins", async () => {
  expect(await pageOf(2, read)).toEqual({ items: all.slice(0, 2), next: "i1" });
});

test("the last page says nothing, though it is full", async () => {
  expect(await pageOf(5, read)).toEqual({ items: all });
  expect(await pageOf(9, read)).toEqual({ items: all });
  expect(await pageOf(2, async () => [])).toEqual({ items: [] });
});
