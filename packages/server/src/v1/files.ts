import { Readable } from "node:stream";
import { fileOperations } from "@reins/api";
import type { FileCaller, FileService, Hosting, ReadableFile } from "@reins/host";
import { required } from "../access/authenticator.ts";
import { headerOf } from "../gateway/request.ts";
import { callerProblems, HttpProblem } from "../problems.ts";
import type { LongPollCall, Routes, TransferResponse } from "../routes/router.ts";

const TAR = /^application\/(x-)?tar(;|$)/i;

/** The files of callers, streamed both ways. */
export function fileRoutes(hosting: () => Promise<Hosting>): Routes {
  const files = async (): Promise<FileService> => (await required(hosting)).files;
  return {
    name: "files",
    mount(router) {
      router.transfer(fileOperations.listFolder, async (call) => {
        const listed = (await files()).list(callerOf(call), call.query.path);
        return {
          status: 200,
          headers: JSON_TYPE,
          body: Readable.from(await started(jsonOf("", listed, "")), { objectMode: false }),
        };
      });
      router.transfer(fileOperations.readFile, async (call) => {
        const file = await (await files()).open(callerOf(call), call.query.path);
        return sentFile(file, call);
      });
      router.transfer(fileOperations.writeFile, async (call) => {
        const length = headerOf(call.request, "content-length");
        const bytes = length === undefined ? undefined : Number(length);
        return {
          status: 200,
          body: await (await files()).write(callerOf(call), call.query.path, call.bytes, {
            ...{ bytes, precondition: preconditionOf(call) },
          }),
        };
      });
      router.transfer(fileOperations.uploadBatch, async (call) => {
        if (!TAR.test(headerOf(call.request, "content-type") ?? ""))
          throw new HttpProblem("unsupported_media_type", "an archive is sent as application/x-tar");
        return {
          status: 200,
          body: await (await files()).upload(callerOf(call), call.query.path, call.bytes),
        };
      });
      router.transfer(fileOperations.removeFile, async (call) => ({
        status: 200,
        body: await (await files()).remove(callerOf(call), call.query.path, {
          precondition: preconditionOf(call),
        }),
      }));
      router.transfer(fileOperations.removeEntry, async (call) => ({
        status: 200,
        body: await (await files()).remove(callerOf(call), call.query.path, {
          ...{ recursive: call.query.recursive === "true", precondition: preconditionOf(call) },
        }),
      }));
      router.transfer(fileOperations.makeFolder, async (call) => ({
        status: 200,
        body: await (await files()).makeFolder(callerOf(call), call.query.path),
      }));
      router.transfer(fileOperations.statEntry, async (call) => {
        const { name: _, ...stat } = await (await files()).stat(callerOf(call), call.query.path);
        return { status: 200, body: stat };
      });
      router.longPoll(fileOperations.moveEntry, async (call) => {
        const { from, to, overwrite } = call.body;
        const given = { from, to, overwrite: overwrite ?? false };
        const moved = await callerProblems(async () => (await files()).move(callerOf(call), given));
        return { status: 200, text: JSON.stringify(moved) };
      });
    },
  };
}

export const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

/** The caller of an operation; it aborts when the client disconnects. */
export function callerOf(call: LongPollCall & { readonly query: object }): FileCaller {
  const { principal, query } = call;
  const gone = new AbortController();
  call.onDisconnect(() => gone.abort(new HttpProblem("timeout", "the client has disconnected")));
  const session =
    "session_id" in query && typeof query.session_id === "string" ? query.session_id : undefined;
  return { principal, session, signal: gone.signal };
}

/** What `If-Match` and `If-None-Match` demand of a file (RFC 9110); undefined without them. */
function preconditionOf({ request }: LongPollCall): ((version: string | undefined) => boolean) | undefined {
  const [wanted, unwanted] = [headerOf(request, "if-match"), headerOf(request, "if-none-match")];
  if (wanted === undefined && unwanted === undefined) return undefined;
  const names = (tags: string, version: string | undefined) =>
    version !== undefined &&
    (tags.trim() === "*" || tags.split(",").some((tag) => tag.trim() === `"${version}"`));
  return (version) =>
    (wanted === undefined || names(wanted, version)) && (unwanted === undefined || !names(unwanted, version));
}

/** A part of a file that a client asks for, both ends included. */
type Part = { readonly start: number; readonly end: number };

function sentFile(
  file: ReadableFile,
  { request }: LongPollCall,
): TransferResponse | Promise<TransferResponse> {
  const { size, version, modified } = file;
  const etag = `"${version}"`;
  const condition = headerOf(request, "if-range");
  const part =
    condition === undefined || condition === etag ? partIn(headerOf(request, "range"), size) : undefined;
  if (part === "unsatisfiable") {
    const refused = new HttpProblem("range_not_satisfiable", `the file has ${size} bytes`, {
      headers: { "content-range": `bytes */${size}` },
    });
    return file.close().then(() => Promise.reject(refused));
  }
  const { start, end } = part ?? { start: 0, end: size - 1 };
  const headers = {
    "content-type": "application/octet-stream",
    "content-length": String(end - start + 1),
    "content-disposition": "attachment",
    "accept-ranges": "bytes",
    "last-modified": modified.toUTCString(),
    etag,
    ...(part && { "content-range": `bytes ${start}-${end}/${size}` }),
  };
  const status = part ? 206 : 200;
  if (request.method === "HEAD" || size === 0)
    return file.close().then(() => ({ status, headers, body: Readable.from([]) }));
  return { status, headers, body: file.stream(start, end) };
}

/** The one part that a `Range` header names; undefined for any other header, which is ignored (RFC 9110). */
function partIn(range: string | undefined, size: number): Part | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const count = Math.min(Number(last), size);
    return count === 0 ? "unsatisfiable" : { start: size - count, end: size - 1 };
  }
  const start = Number(first);
  if (start >= size) return "unsatisfiable";
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  return end < start ? undefined : { start, end };
}

/** A JSON list with what is around it, piece by piece. */
export async function* jsonOf(
  head: string,
  items: Iterable<object> | AsyncIterable<object>,
  tail: string,
): AsyncGenerator<string> {
  let before = `${head}[`;
  for await (const item of items) {
    yield `${before}${JSON.stringify(item)}`;
    before = ",";
  }
  yield before === "," ? `]${tail}` : `${before}]${tail}`;
}

/** Pieces whose first was read already, so that an error before it is a problem. */
async function started(pieces: AsyncGenerator<string>): Promise<AsyncGenerator<string>> {
  const first = await pieces.next();
  return (async function* () {
    try {
      if (!first.done) yield first.value;
      yield* pieces;
    } finally {
      await pieces.return(undefined);
    }
  })();
}
