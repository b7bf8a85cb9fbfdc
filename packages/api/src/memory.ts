import { z } from "zod";
import { operation } from "./operation.ts";
import { LongLimit, Moment, named, PathName } from "./schema.ts";

const Folder = z.string().max(4_096);

/** A fact that later sessions of the same user can find. */
export const MemoryFact = named(
  "MemoryFact",
  z.looseObject({
    id: z.string(),
    content: z.string(),
    source: z.string().describe("who or what it is from, such as a session or a person"),
    confidence: z.number().describe("from 0 to 1"),
    workspace: z.string().describe("the folder it is true in; empty when it is true everywhere"),
    created_at: Moment.describe("when it was last said, RFC 3339"),
    score: z.number().optional().describe("how well it matches the query; more is better"),
  }),
);
export type MemoryFact = z.infer<typeof MemoryFact>;

/** What is known. */
const MemoryFacts = named(
  "MemoryFacts",
  z.looseObject({ facts: z.array(MemoryFact).describe("best first for a query, else newest first") }),
);

/** A fact to be kept. */
const NewMemoryFact = named(
  "NewMemoryFact",
  z.strictObject({
    content: z.string().min(1).max(4_096),
    confidence: z.number().min(0).max(1).optional().describe("1 unless said otherwise"),
    workspace: Folder.optional().describe("the folder it is true in, absolute; without it, everywhere"),
  }),
);

/** Operations on the memory of a user's sessions. */
export const memoryOperations = {
  listMemory: operation({
    id: "list_memory",
    method: "GET",
    path: "/v1/memory",
    summary:
      "Lists the facts that the sessions of the caller's user know: the newest, or the best matches of a query.",
    audience: "person",
    query: z.strictObject({
      query: z.string().min(1).max(4_096).optional().describe("words to look for"),
      workspace: Folder.optional().describe("with a query: leaves out what is true in other folders"),
      limit: LongLimit,
    }),
    answer: MemoryFacts,
  }),
  addMemory: operation({
    id: "add_memory",
    method: "POST",
    path: "/v1/memory",
    summary: "Adds a fact. Adding the same again makes it newer.",
    audience: "person",
    body: NewMemoryFact,
    status: 201,
    answer: MemoryFact,
  }),
  forgetMemory: operation({
    id: "forget_memory",
    method: "DELETE",
    path: "/v1/memory/{fact}",
    summary: "Deletes a fact.",
    audience: "person",
    params: z.strictObject({ fact: PathName.describe("its id") }),
    problems: ["not_found"],
  }),
} as const;
