import { z } from "zod";
import { operation } from "./operation.ts";
import type { ProblemCode } from "./problem.ts";
import { named } from "./schema.ts";

const Path = z.string().min(1).max(4_096);
const Flag = z.enum(["true", "false"]);
const EntryType = z.enum(["file", "directory"]);
const modified = z.string().optional().describe("RFC 3339");

/** The session in whose folders a path lies. */
const session_id = z
  .string()
  .min(1)
  .max(1_024)
  .optional()
  .describe("the session whose folders count; by default those of the caller's tenant");
const place = z.strictObject({
  path: Path.describe("absolute, or from the folder of the session or of the tenant"),
  session_id,
});
const perhaps = z.strictObject({
  path: Path.optional().describe("by default the folder itself"),
  session_id,
});

/** An entry of a folder. A link is a file. */
export const FileEntry = named(
  "FileEntry",
  z.looseObject({
    name: z.string(),
    path: z.string().describe("absolute"),
    entryType: EntryType,
    size: z.int(),
    modified,
  }),
);
export type FileEntry = z.infer<typeof FileEntry>;

/** What a file or folder is. */
export const FileStat = named(
  "FileStat",
  z.looseObject({ path: z.string(), entryType: EntryType, size: z.int(), modified }),
);
export type FileStat = z.infer<typeof FileStat>;

/** A path that was changed. */
const ChangedPath = named("ChangedPath", z.looseObject({ path: z.string() }));

const audience = "person";
const preconditions = z.object({
  "If-Match": z.string().max(1_024).optional(),
  "If-None-Match": z.string().max(1_024).optional(),
});
const PROBLEMS_OF_FILES: readonly ProblemCode[] = ["not_found", "conflict", "unavailable"];

/** Operations on files. Each is decided about before it is done. */
export const fileOperations = {
  listFolder: operation({
    id: "list_folder",
    method: "GET",
    path: "/v1/fs/entries",
    summary: "Lists a folder, as it is read.",
    audience,
    query: perhaps,
    answer: z.array(FileEntry),
    problems: PROBLEMS_OF_FILES,
  }),
  readFile: operation({
    id: "read_file",
    method: "GET",
    path: "/v1/fs/file",
    summary: "Streams a file, or with `Range: bytes=…` a part of it. `ETag` changes with the content.",
    audience,
    headers: z.object({
      Range: z.string().max(256).optional(),
      "If-Range": z.string().max(256).optional(),
    }),
    query: place,
    answer: z.string(),
    media: "application/octet-stream",
    also: { status: 206, answer: z.string() },
    problems: [...PROBLEMS_OF_FILES, "range_not_satisfiable"],
  }),
  writeFile: operation({
    id: "write_file",
    method: "PUT",
    path: "/v1/fs/file",
    summary:
      "Writes a file as it arrives, and makes the folders that it lies in. Readers see the old content or the new one, whole. `If-Match` with an `ETag`, or `If-None-Match: *`, has it fail where the file is another by then.",
    audience,
    headers: preconditions,
    query: place,
    takes: "application/octet-stream",
    answer: named("WrittenFile", z.looseObject({ path: z.string(), bytesWritten: z.int() })),
    problems: [...PROBLEMS_OF_FILES, "timeout", "precondition_failed"],
  }),
  removeFile: operation({
    id: "remove_file",
    method: "DELETE",
    path: "/v1/fs/file",
    summary: "Removes a file, a link or an empty folder.",
    audience,
    headers: preconditions,
    query: place,
    answer: ChangedPath,
    problems: [...PROBLEMS_OF_FILES, "precondition_failed"],
  }),
  removeEntry: operation({
    id: "remove_entry",
    method: "DELETE",
    path: "/v1/fs/entry",
    summary: "Removes a file, a link or a folder; one that is not empty only if that is recursive.",
    audience,
    headers: preconditions,
    query: place.extend({ recursive: Flag.optional() }),
    answer: ChangedPath,
    problems: [...PROBLEMS_OF_FILES, "precondition_failed"],
  }),
  makeFolder: operation({
    id: "make_folder",
    method: "POST",
    path: "/v1/fs/mkdir",
    summary: "Makes a folder and those that it lies in.",
    audience,
    query: place,
    answer: ChangedPath,
    problems: PROBLEMS_OF_FILES,
  }),
  moveEntry: operation({
    id: "move_entry",
    method: "POST",
    path: "/v1/fs/move",
    summary: "Moves a file or folder. What is at its destination is replaced only with `overwrite`.",
    audience,
    query: z.strictObject({ session_id }),
    body: z.strictObject({ from: Path, to: Path, overwrite: z.boolean().nullish() }),
    answer: named("MovedEntry", z.looseObject({ from: z.string(), to: z.string() })),
    problems: PROBLEMS_OF_FILES,
  }),
  statEntry: operation({
    id: "stat_entry",
    method: "GET",
    path: "/v1/fs/stat",
    summary: "Describes a file or folder.",
    audience,
    query: place,
    answer: FileStat,
    problems: PROBLEMS_OF_FILES,
  }),
  uploadBatch: operation({
    id: "upload_batch",
    method: "POST",
    path: "/v1/fs/upload-batch",
    summary:
      "Unpacks a tar archive of files and folders into a folder. An archive with any other entry, or one that is not allowed, changes nothing.",
    audience,
    query: perhaps,
    takes: "application/x-tar",
    answer: named(
      "UploadedFiles",
      z.looseObject({
        paths: z.array(z.string()).describe("of the files, at most 1,024"),
        truncated: z.boolean().describe("whether there are more"),
      }),
    ),
    problems: [...PROBLEMS_OF_FILES, "timeout"],
  }),
} as const;
