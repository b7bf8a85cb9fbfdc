import { expect, test } from "vitest";
import { z } from "zod";
import { faultSentences } from "./member-faults.ts";

const VALUES = [undefined, null, 5, -1.5, "", "x", true, [], [1], {}, { a: 1 }, "y".repeat(300)];
const MEMBERS = {
  text: z.string().min(2).max(100),
  number: z.number().min(3).max(4),
  whole: z.int(),
  flag: z.boolean(),
  list: z.array(z.string()).min(2).max(3),
  choice: z.enum(["left", "right"]),
  only: z.literal("user"),
  members: z.record(z.string(), z.boolean()),
  folder: z.string().startsWith("/", "is an absolute path"),
  name: z.string().regex(/^[a-z]{2}$/, "1 to 128 letters"),
  either: z.union([z.number(), z.object({ role: z.literal("user") })]),
  tagged: z.discriminatedUnion("type", [z.object({ type: z.literal("text") })]),
  closed: z.strictObject({ known: z.string() }),
  email: z.email(),
  address: z.url(),
  time: z.iso.datetime(),
};

test.each(Object.entries(MEMBERS))("what is wrong with a %s is a sentence that names it", (name, schema) => {
  const refused = VALUES.flatMap((value) => {
    const { error } = z.object({ [name]: schema }).safeParse({ [name]: value });
    return error ? [faultSentences(error, "payload")] : [];
  });
  expect(refused.length).toBeGreaterThan(0);
  for (const sentence of refused) {
    expect(sentence).toMatch(new RegExp(`^${name}[.\\w]* (is|has|may|holds|fits) `));
    expect(sentence).not.toMatch(
      /Invalid|has to match|Unrecognized|Too (small|big)|received|undefined|\bexpected\b|\n/,
    );
    expect(sentence.length).toBeLessThan(600);
  }
});

test("says what is missing, what is expected and what came instead", () => {
  const schema = z.object({ child_agent: z.string(), scopes: z.array(z.string()) });
  const told = (given: unknown) => faultSentences(schema.safeParse(given).error ?? { issues: [] }, "payload");
  expect(told({ scopes: [] })).toBe("child_agent is missing; it has to be a text");
  expect(told({ child_agent: 1, scopes: {} })).toBe(
    "child_agent has to be a text, not a number; scopes has to be a list, not an object",
  );
  expect(told(null)).toBe("payload has to be an object, not null");
});

test("many faults, and long names, are shortened", () => {
  const schema = z.record(z.string(), z.string());
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index}`.repeat(500), 1]));
  const { error } = schema.safeParse(many);
  expect(faultSentences(error ?? { issues: [] }, "payload")).toMatch(/; and 95 more$/);
  expect(faultSentences(error ?? { issues: [] }, "payload").length).toBeLessThan(1_500);
});
