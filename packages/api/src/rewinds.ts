import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, named, PathName } from "./schema.ts";

/** A turn that a session can go back to before. To go back to before a rewind undoes it. */
export const RewindTurn = named(
  "RewindTurn",
  z.looseObject({
    id: z.string(),
    at: Moment.describe("when it began"),
    kind: z.enum(["turn", "rewind"]),
    prompt: z.string().optional().describe("the beginning of the prompt"),
    files: z.int().describe("how many files and folders Reins changed in it"),
    in_effect: z
      .boolean()
      .optional()
      .describe("whether the model is shown it; absent where the agent holds the conversation itself"),
    before: z.string().optional().describe("of a rewind: the turn before which it went back"),
    cut: z
      .boolean()
      .describe("whether a rewind was cut off by the end of the process; once more, it completes that"),
  }),
);
export type RewindTurn = z.infer<typeof RewindTurn>;

/** What a session can go back to. */
export const RewindTurns = named(
  "RewindTurns",
  z.looseObject({
    turns: z.array(RewindTurn).describe("in their order"),
    conversation: z.boolean().describe("whether the conversation can go back, too"),
    forgotten: z.string().optional().describe("the last turn whose files are not kept any more"),
  }),
);
export type RewindTurns = z.infer<typeof RewindTurns>;

/** What becomes of a file or folder in a rewind. */
const RewoundFile = named(
  "RewoundFile",
  z.looseObject({
    path: z.string(),
    change: z.enum(["write", "remove", "none"]),
    state: z
      .enum(["pending", "restored", "unchanged", "conflict", "lost", "failed"])
      .describe(
        "`conflict`: it is not as Reins left it; `lost`: what it was is not kept; `pending`: it was not touched yet",
      ),
    reason: z.string().optional(),
  }),
);

/** An action that is not undone by a rewind. */
const LastingEffect = named(
  "LastingEffect",
  z.looseObject({
    tool: z.string(),
    outcome: z
      .enum(["completed", "failed", "unknown"])
      .describe(
        "what failed may have been done in part, and of `unknown` it is not known whether it was done",
      ),
    runs: z.array(z.string()).describe("the programs that it ran, with their arguments as far as known"),
    writes: z.array(z.string()).describe("the paths that it wrote or removed"),
    hosts: z.array(z.string()).describe("the hosts that it spoke to"),
    ungated: z.boolean().describe("whether no verdict came before it"),
    session: z.string().optional().describe("the session of the sub-agent that did it"),
  }),
);

/** What became of a rewind, or would. */
export const RewindReport = named(
  "RewindReport",
  z.looseObject({
    turn: z.string(),
    done: z.boolean().describe("whether everything was done; false for a dry run, or with files in the way"),
    rewind: z.string().optional().describe("the rewind itself: to go back to before it undoes it"),
    files: z.array(RewoundFile),
    conversation: z.looseObject({
      state: z.enum(["rewound", "pending", "kept"]),
      reason: z.string().optional(),
    }),
    effects: z
      .array(LastingEffect)
      .describe(
        "what was done since and is not undone, by the ledger, the first five hundred: commands, calls of MCP servers, what the agent wrote by itself",
      ),
    effects_cut: z.boolean().describe("whether more was done since than is listed"),
  }),
);
export type RewindReport = z.infer<typeof RewindReport>;

/** How a session goes back. */
const Rewind = named(
  "Rewind",
  z.strictObject({
    turn: z.string().min(1).max(256).describe("the turn before which it goes back"),
    files: z.boolean().optional().describe("whether files are restored; by default they are"),
    conversation: z
      .boolean()
      .optional()
      .describe("whether the conversation goes back; by default where Reins holds it"),
    dry_run: z.boolean().optional().describe("shows what it would do, and does nothing"),
    force: z
      .boolean()
      .optional()
      .describe("replaces what was changed otherwise, and restores what it can where not everything can be"),
  }),
);

/** Operations that take a session back. */
export const rewindOperations = {
  listTurns: operation({
    id: "list_turns",
    method: "GET",
    path: "/v1/sessions/{id}/turns",
    summary: "Lists the turns that a session can go back to before, with the rewinds that it made.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    answer: RewindTurns,
    problems: ["not_found"],
  }),
  rewindSession: operation({
    id: "rewind_session",
    method: "POST",
    path: "/v1/sessions/{id}/rewind",
    summary:
      "Takes a session back to before a turn: the files that Reins wrote, each decided about, and the conversation where Reins holds it. Nothing is changed while a file stands in the way.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    body: Rewind,
    answer: RewindReport,
    problems: ["not_found", "conflict", "unavailable", "not_implemented"],
  }),
} as const;
