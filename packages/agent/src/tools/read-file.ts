import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import { FileError } from "../files/roots.ts";
import { decodeText, readStart, withFile } from "../files/workspace-files.ts";
import type { MediaPart } from "../history/entry.ts";
import { defineTool, ToolError, type ToolOutcome } from "./tool.ts";

const MAX_READ_BYTES = 50 * 1024;
/** How far into a file its lines are counted. */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
/** As much of an image or a PDF as all providers accept. */
const MAX_MEDIA_BYTES = 3 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Reads a file: text as a whole or from a line on, images and PDF as they are. */
export const readFile = defineTool({
  name: "read_file",
  description:
    "Reads a file of the workspace: text, an image (PNG, JPEG, GIF, WebP) or a PDF. At most 50 KB of text are shown at once; give start_line to go on.",
  kind: "read",
  isReadOnly: true,
  isConcurrent: true,
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
    start_line: z.int().min(1).optional().describe("The first line to show, from 1; for text alone"),
    lines: z.int().min(1).max(100_000).optional().describe("How many lines to show; for text alone"),
  }),
  title: ({ path, start_line, lines }) => `Read ${path}${rangeText(start_line, lines)}`,
  prepare: async ({ path }, { roots }) => ({ locations: [await roots.resolve(path)] }),
  perform: ({ path, start_line, lines }, { roots }) =>
    withFile(roots, path, async (file) => {
      const { size } = await file.stat();
      const start = await readStart(file, MAX_READ_BYTES);
      const mimeType = mediaType(start);
      if (mimeType !== undefined) return readMedia(file, { path, size, mimeType });
      if (start_line !== undefined || lines !== undefined)
        return { text: await readLines(file, { path, size, first: start_line ?? 1, lines }) };
      const isCut = size > start.length && start.length === MAX_READ_BYTES;
      const text = textOf(path, start, isCut);
      if (!isCut) return { text };
      const shown = text.split("\n").length - 1;
      const next = shown > 0 ? `; it goes on in line ${shown + 1}` : "";
      return { text: `${text}\n[cut here: the file has ${size} bytes${next}]` };
    }),
});

function rangeText(first = 1, lines: number | undefined): string {
  if (lines !== undefined) return `, lines ${first} to ${first + lines - 1}`;
  return first > 1 ? `, from line ${first} on` : "";
}

function textOf(path: string, bytes: Buffer, isCut: boolean): string {
  const text = decodeText(bytes, isCut);
  if (text === undefined) throw new FileError("not_text", `${path} is not a text file`);
  return text;
}

/** What the first bytes say a file is, where it is not read as text. */
function mediaType(start: Buffer): MediaPart["mimeType"] | undefined {
  const text = start.toString("latin1", 0, 16);
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  if (/^RIFF.{4}WEBP/s.test(text)) return "image/webp";
  return text.startsWith("%PDF-") ? "application/pdf" : undefined;
}

async function readMedia(
  file: FileHandle,
  {
    path,
    size,
    mimeType,
  }: { readonly path: string; readonly size: number; readonly mimeType: MediaPart["mimeType"] },
): Promise<ToolOutcome> {
  if (size > MAX_MEDIA_BYTES)
    throw new ToolError(
      "failed",
      `${path} has ${size} bytes; at most ${MAX_MEDIA_BYTES} of ${mimeType} are read`,
    );
  const data = (await readStart(file, size)).toString("base64");
  return { text: `[${path}: ${mimeType}, ${size} bytes]`, media: [{ mimeType, data }] };
}

interface Range {
  readonly path: string;
  readonly size: number;
  readonly first: number;
  readonly lines: number | undefined;
}

/** Reads lines from one on, as many as were asked for and fit. */
async function readLines(file: FileHandle, { path, size, first, lines }: Range): Promise<string> {
  const { at, line } = await startOf(file, first);
  // A newline at the end begins no line.
  const isOver = at >= size && first > 1;
  if (line < first || isOver)
    throw new ToolError(
      "failed",
      at < size
        ? `line ${first} is further than ${MAX_COUNTED_BYTES} bytes into ${path}; use a command such as sed`
        : `${path} has ${Math.min(line, first - 1)} lines`,
    );
  const bytes = Buffer.alloc(Math.min(MAX_READ_BYTES, Math.max(0, size - at)));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, at + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  const wanted = linesIn(bytes.subarray(0, length), lines);
  const isCut = wanted.length === length && at + length < size;
  const text = textOf(path, wanted, isCut);
  const shown = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  if (at + wanted.length >= size) return text;
  return `${text.replace(/\n$/, "")}\n[to be continued: these are lines ${first} to ${first + shown - 1}, up to byte ${at + wanted.length} of ${size}]`;
}

/** Where a line starts; the last line of the file, or of what is counted, where that comes before it. */
async function startOf(
  file: FileHandle,
  first: number,
): Promise<{ readonly at: number; readonly line: number }> {
  const piece = Buffer.alloc(PIECE_BYTES);
  let line = 1;
  let at = 0;
  let lineStart = 0;
  while (line < first && at < MAX_COUNTED_BYTES) {
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) break;
    for (
      let next = piece.indexOf(NEWLINE);
      next >= 0 && next < bytesRead;
      next = piece.indexOf(NEWLINE, next + 1)
    ) {
      line += 1;
      lineStart = at + next + 1;
      if (line === first) return { at: lineStart, line };
    }
    at += bytesRead;
  }
  // A newline at the end begins no line.
  const isEmpty = lineStart === at && line > 1;
  return line === first ? { at: lineStart, line } : { at, line: isEmpty ? line - 1 : line };
}

/** The first lines of a text; all of it where no number is given. */
function linesIn(bytes: Buffer, lines: number | undefined): Buffer {
  if (lines === undefined) return bytes;
  let end = 0;
  for (let count = 0; count < lines; count += 1) {
    const next = bytes.indexOf(NEWLINE, end);
    if (next < 0) return bytes;
    end = next + 1;
  }
  return bytes.subarray(0, end);
}
