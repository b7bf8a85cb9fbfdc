import { describe, expect, it } from "vitest";
import { type Random, seededRandom } from "../../../../scripts/torture/random.ts";
import { graphOf } from "../../test/graphs.ts";
import { assertNoConflict, canonicalResource, pathOfResource, writesConflict } from "./conflicts.ts";

const writes: Readonly<Record<string, readonly string[]>> = {
  a: ["src"],
  b: ["src/x"],
  c: ["docs"],
  d: ["*"],
};
const refuse = (actions: readonly object[], conflict_resolution = "refuse") =>
  assertNoConflict(graphOf(actions, { conflict_resolution }), ({ id }) => writes[id] ?? []);

describe("A graph that refuses conflicts", () => {
  it("is refused where two actions write the same and neither waits for the other", () => {
    expect(() => refuse([{ id: "a" }, { id: "b" }])).toThrow("a and b would write the same resource");
    expect(() => refuse([{ id: "c" }, { id: "d" }])).toThrow("c and d");
  });

  it("is accepted where they are in order, also by way of others, or write other things", () => {
    refuse([{ id: "a" }, { id: "c" }, { id: "e" }]);
    refuse([
      { id: "b", depends_on: ["e"] },
      { id: "e", when: [{ action: "a", status: "completed" }] },
      { id: "a" },
    ]);
  });

  it("is accepted with the default, which runs one after the other", () => {
    refuse([{ id: "a" }, { id: "b" }], "serialize");
  });
});

describe("A resource", () => {
  const ROOT = "/home/ann/Project";
  const PARTS = ["src", "x", "a.ts", "Über", "lib"];

  /** One of the many ways to spell a path of the workspace. */
  function spelled(random: Random, parts: readonly string[]): string {
    const steps = parts.flatMap((part) => {
      const one = random.pick([part, part.toUpperCase(), part.normalize("NFD")]);
      return random.pick([[one], [".", one], ["other", "..", one], ["", one]]);
    });
    const ends = random.pick(["", "/", "/.", "/**", "/*.ts", "/y/.."]);
    const path = `${steps.join(random.pick(["/", "/", "\\"])).replace(/^[\\/]+/, "")}${ends}`;
    return random.pick([
      path,
      ` ${path} `,
      `./${path}`,
      `${ROOT}/${path}`,
      `file:${path}`,
      `FILE:./${path}`,
      `file://${ROOT}/${encodeURI(path)}`,
      `file://localhost${ROOT}/${encodeURI(path)}`,
      `repo://current/${encodeURI(path)}`,
    ]);
  }

  it("is the same in every spelling: two conflict where one is the other or within it, and nowhere else", () => {
    for (let seed = 0; seed < 3_000; seed += 1) {
      const random = seededRandom(seed);
      const path = () => Array.from({ length: 1 + random.int(3) }, () => random.pick(PARTS));
      const [one, two] = [path(), path()];
      const [first, second] = [spelled(random, one), spelled(random, two)];
      const isWithin = one.slice(0, two.length).every((part, index) => part === two[index]);
      const canonical = [first, second].map((text) => [canonicalResource(text, ROOT)]);
      expect(writesConflict(canonical[0]!, canonical[1]!), `${seed}: ${first} and ${second}`).toBe(isWithin);
      expect(canonicalResource(canonical[0]![0]!, ROOT)).toBe(canonical[0]![0]);
    }
  });

  it.each([
    "",
    " ",
    ".",
    "./",
    "*",
    "**/a",
    "..",
    "../x",
    "src/../..",
    "~/.ssh",
    "/etc/x",
    "file:///etc/x",
    "repo://current",
  ])("may be anything where it names no path of the workspace: %j", (resource) => {
    expect(canonicalResource(resource, ROOT)).toBe("*");
  });

  it.each(["file://elsewhere/src", "repo://other/src", "file:///%zz", "~/.ssh", "*", ""])(
    "names no path of its own: %j",
    (resource) => {
      expect(pathOfResource(resource)).toBeUndefined();
    },
  );

  it("is compared with an absolute path where the workspace is known", () => {
    expect(canonicalResource(`${ROOT}/src`)).toBe("*");
    expect(canonicalResource(`${ROOT}2/src`, ROOT)).toBe("*");
    expect(canonicalResource("db:users", ROOT)).toBe("db:users");
  });
});
