import { resolve } from "node:path";
import { type MemoryFact, memoryOperations } from "@reins/api";
import { idByPrefix } from "../client/api-client.ts";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { readText } from "../flags.ts";
import { printableLine, screenWidth, table } from "../output.ts";

const ID_FORMAT = { what: "fact", mark: "", length: 36, list: "reins memory list" } as const;
const SHOWN_ID = 8;
const MAX_SEARCHED = 1_000;
const LIMIT = ["--limit <count>", "how many (default: 100)"] as const;
const folder = { read: (text: string) => resolve(text) };

const DESCRIPTION =
  "The facts that sessions of the same user know, written by a session or by a person with these commands.";

export const memoryCommand = group(DESCRIPTION, {
  add: operationCommand({
    operation: memoryOperations.addMemory,
    summary: "add a fact",
    description: "Adds a fact. Adding the same again makes it newer.",
    inputs: {
      content: [
        "<fact...>",
        "the fact; - reads it from stdin",
        { words: (words) => readText(words, "the fact") },
      ],
      workspace: ["--workspace <folder>", "where it is true (default: everywhere)", folder],
      confidence: ["--confidence <number>", "how certain it is, from 0 to 1 (default: 1)"],
    },
    output: (fact) => ({ text: () => `added as ${fact.id.slice(0, SHOWN_ID)}\n` }),
    jsonHelp: "print the fact as JSON",
    examples: [
      'reins memory add "releases are cut on Thursdays"',
      'reins memory add "tests need a database" --workspace ~/project',
    ],
  }),
  search: operationCommand({
    operation: memoryOperations.listMemory,
    summary: "find facts",
    description: "Finds the facts that match the words best, as a session would recall them.",
    inputs: {
      query: ["<words...>", "what to search for", { words: (words) => words.join(" ") }],
      workspace: ["--workspace <folder>", "leave out what is true in other folders", folder],
      limit: LIMIT,
    },
    output: ({ facts }) => ({ text: () => factTable(facts) }),
    examples: [
      'reins memory search "when is the release"',
      "reins memory search database --workspace ~/project",
    ],
  }),
  list: operationCommand({
    operation: memoryOperations.listMemory,
    summary: "list the newest facts",
    description: "Lists facts, newest first.",
    inputs: { limit: LIMIT },
    output: ({ facts }) => ({ text: () => factTable(facts) }),
    examples: ["reins memory list --limit 10"],
  }),
  forget: operationCommand({
    operation: memoryOperations.forgetMemory,
    summary: "delete a fact",
    description: "Deletes a fact for good.",
    inputs: {
      fact: [
        "<fact>",
        "the fact's id, or the beginning of it",
        {
          find: (given, client) =>
            idByPrefix(given, ID_FORMAT, [
              async () =>
                (await client.call(memoryOperations.listMemory, { query: { limit: MAX_SEARCHED } })).facts,
            ]),
        },
      ],
    },
    output: (_, { fact: id }) => ({ json: { id, forgotten: true }, text: () => `forgotten  ${id}\n` }),
    advice: { not_found: `To see the facts: ${ID_FORMAT.list}` },
    examples: ["reins memory forget 1b9d6bcd"],
  }),
});

function factTable(facts: readonly MemoryFact[]): string {
  const rows = facts.map(({ id, created_at, source, workspace, content }) =>
    [id.slice(0, SHOWN_ID), created_at, source, workspace || "-", content].map(printableLine),
  );
  return table([["id", "said", "source", "workspace", "fact"], ...rows], screenWidth());
}
