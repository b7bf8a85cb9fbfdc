import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bm25Index, explain, queryTokens, searchItems, tokensOf } from "./bm25.ts";

function indexOf(texts: Readonly<Record<string, string>>): Bm25Index<"text"> {
  const index = new Bm25Index({ text: 1 });
  for (const [id, text] of Object.entries(texts)) index.put(id, { text });
  return index;
}

const idsFor = (index: Bm25Index<"text">, query: string, limit = 10) =>
  index.search(query, { limit }).map(({ id }) => id);

describe("a search", () => {
  it("ranks texts by the words of the query, rare words higher", () => {
    const index = indexOf({
      tests: "the tests of this project are run with vitest",
      deploy: "the service is deployed with terraform",
      style: "the code is formatted with biome",
    });
    expect(idsFor(index, "how are the tests run")[0]).toBe("tests");
    expect(idsFor(index, "terraform")).toEqual(["deploy"]);
  });

  it("ranks the shorter of two texts with the same count higher", () => {
    const index = indexOf({ long: `port ${"filler ".repeat(50)}`, short: "port 18789" });
    expect(idsFor(index, "port")).toEqual(["short", "long"]);
  });

  it("splits identifiers", () => {
    expect(idsFor(indexOf({ a: "call spawnSubagent", b: "call nothing" }), "subagent")).toEqual(["a"]);
  });

  it("returns nothing for unknown words and respects the limit", () => {
    const index = indexOf({ a: "one", b: "one", c: "one" });
    expect(idsFor(index, "two")).toEqual([]);
    expect(idsFor(index, "one", 2)).toEqual(["a", "b"]);
  });

  it("follows replaced and removed texts", () => {
    const index = indexOf({ a: "red", b: "green" });
    index.put("a", { text: "blue" });
    expect(idsFor(index, "red")).toEqual([]);
    expect(idsFor(index, "blue")).toEqual(["a"]);
    index.remove("a");
    index.remove("a");
    expect(idsFor(index, "blue")).toEqual([]);
    expect(index.size).toBe(1);
  });
});

describe("fields", () => {
  const index = new Bm25Index({ name: 3, description: 1 });
  index.put("list_invoices", { name: "list_invoices", description: "Shows the bills of a customer" });
  index.put("charge_card", { name: "charge_card", description: "Charges a card and creates an invoice" });

  it("count by their weight", () => {
    expect(index.search("invoice", { limit: 5 }).map(({ id }) => id)).toEqual([
      "list_invoices",
      "charge_card",
    ]);
  });

  it("are named with the words that were found in them", () => {
    const [hit] = index.search("charging by card: an invoice", { limit: 1 });
    expect(hit?.id).toBe("charge_card");
    expect(hit?.matches.map(({ word, fields }) => [word, fields])).toEqual([
      ["charg", ["name", "description"]],
      ["card", ["name", "description"]],
      ["invoic", ["description"]],
    ]);
    const total = hit?.matches.reduce((sum, { score }) => sum + score, 0);
    expect(total).toBeCloseTo(hit?.score ?? 0);
    expect(explain(hit?.matches ?? [])).toBe(
      "charg (name, description), card (name, description), invoic (description)",
    );
  });

  it("leave out what is not accepted before the limit counts", () => {
    const accepts = (id: string) => id !== "list_invoices";
    expect(index.search("invoice", { limit: 1, accepts }).map(({ id }) => id)).toEqual(["charge_card"]);
  });
});

describe("synonyms", () => {
  const index = new Bm25Index(
    { text: 1 },
    {
      expand: (word) =>
        word === "ship"
          ? [
              { word: "deploi", share: 0.5 },
              { word: "releas", share: 0.5 },
            ]
          : [],
    },
  );
  index.put("a", { text: "deploy a release" });
  index.put("b", { text: "ship a parcel" });

  it("count less than the word itself, and once for all", () => {
    const [first, second] = index.search("ship", { limit: 5 });
    expect([first?.id, second?.id]).toEqual(["b", "a"]);
    expect(second?.matches).toHaveLength(1);
    expect(explain(second?.matches ?? [])).toMatch(/^ship as (?:deploi|releas) \(text\)$/);
  });
});

const WORDS = ["port", "server", "test", "vitest", "deploy", "friday"];
const texts = fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((words) => words.join(" "));
const ids = fc.constantFrom("a", "b", "c", "d");

describe("an index after any changes", () => {
  it("finds what an index made of the remaining texts finds", () => {
    const changes = fc.array(fc.oneof(fc.tuple(ids, texts), fc.tuple(ids)), { maxLength: 20 });
    fc.assert(
      fc.property(changes, texts, (made, query) => {
        const index = new Bm25Index({ text: 1 });
        const left = new Map<string, string>();
        for (const [id, text] of made) {
          if (text === undefined) {
            index.remove(id);
            left.delete(id);
          } else {
            index.put(id, { text });
            left.set(id, text);
          }
        }
        expect(index.size).toBe(left.size);
        const fresh = indexOf(Object.fromEntries(left));
        expect(index.search(query, { limit: 10 })).toEqual(fresh.search(query, { limit: 10 }));
      }),
    );
  });

  it("finds exactly the texts with a word of the query, with positive scores in falling order", () => {
    fc.assert(
      fc.property(fc.dictionary(ids, texts), texts, (all, query) => {
        const hits = indexOf(all).search(query, { limit: 10 });
        const words = new Set(queryTokens(query));
        const expected = Object.keys(all).filter((id) =>
          tokensOf(all[id] ?? "").some((word) => words.has(word)),
        );
        expect(hits.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
        for (const [index, { score }] of hits.entries()) {
          expect(score).toBeGreaterThan(0);
          expect(score).toBeLessThanOrEqual(hits[index - 1]?.score ?? score);
        }
      }),
    );
  });
});

describe("a search of items", () => {
  const skills = [{ about: "deploys the server" }, { about: "runs tests" }, { about: "tests the deploy" }];

  it("returns matching items, best first, up to the limit", () => {
    const found = searchItems(skills, ({ about }) => about, "run tests");
    expect(found).toEqual([skills[1], skills[2]]);
    expect(searchItems(skills, ({ about }) => about, "run tests", 1)).toEqual([skills[1]]);
  });

  it("returns nothing for no items or no words", () => {
    expect(searchItems([], String, "tests")).toEqual([]);
    expect(searchItems(skills, ({ about }) => about, "…")).toEqual([]);
  });
});
