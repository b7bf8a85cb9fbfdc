import { z } from "zod";
import { operation } from "./operation.ts";
import { named, PageLimit } from "./schema.ts";

/** The end of the board. */
const BoardExcerpt = named(
  "BoardExcerpt",
  z.looseObject({ lines: z.array(z.string()).describe("oldest first") }),
);

/** A post; it carries the name of its author. */
const NewPost = named("NewPost", z.strictObject({ content: z.string().min(1).max(65_536) }));

/** The board is a file that others write to as well: it may be full, or lead elsewhere. */
const problems = ["conflict"] as const;

/** Operations on the board. */
export const boardOperations = {
  showBoard: operation({
    id: "show_board",
    method: "GET",
    path: "/v1/board",
    summary: "Returns the last lines of the board of the caller's tenant.",
    audience: "principal",
    query: z.strictObject({ lines: PageLimit }),
    answer: BoardExcerpt,
    problems,
  }),
  postBoard: operation({
    id: "post_board",
    method: "POST",
    path: "/v1/board",
    summary: "Posts a line with its author and time for everyone.",
    audience: "person",
    body: NewPost,
    problems,
  }),
} as const;
