import { type FileEntry, type FileStat, fileOperations, problem, selfOperations } from "@reins/api";
import { ApiError } from "./errors.ts";
import { bytesOf } from "./events.ts";
import type {
  FileContent,
  FileDownload,
  FileOptions,
  ReadFileOptions,
  UploadedFiles,
  WrittenFile,
} from "./files.ts";
import { type Abortable, type Http, type RequestContent, responseText } from "./http.ts";

function list(http: Http, path: string | undefined, options: FileOptions): Promise<readonly FileEntry[]> {
  return http.call(fileOperations.listFolder, at(path, options));
}

function stat(http: Http, path: string, options: FileOptions): Promise<FileStat> {
  return http.call(fileOperations.statEntry, at(path, options));
}

async function read(
  http: Http,
  path: string,
  { start = 0, end, version, ...options }: ReadFileOptions,
): Promise<FileDownload> {
  const isPart = start > 0 || end !== undefined;
  if (!isByte(start) || (end !== undefined && !(isByte(end) && end > start)))
    throw new RangeError("A part of a file has a start from 0 on, and an end after it.");
  const range = { range: `bytes=${start}-${end === undefined ? "" : end - 1}` };
  const headers = { ...(isPart && range), ...(isPart && version !== undefined && { "if-range": version }) };
  const response = await http.response(fileOperations.readFile, { ...at(path, options), headers });
  const file = new Download(response, options.signal);
  const isSame = version === undefined || version === file.version;
  if (isSame && isPart === (response.status === 206)) return file;
  await file.cancel();
  throw new ApiError(409, problem("conflict", `${path} has changed since; read it from the beginning`));
}

function write(http: Http, path: string, content: FileContent, options: FileOptions): Promise<WrittenFile> {
  const input = at(path, options);
  return sending(http, content, options.signal, (body) =>
    http.call(fileOperations.writeFile, { ...input, ...body }),
  );
}

function uploadBatch(
  http: Http,
  path: string | undefined,
  archive: FileContent,
  options: FileOptions,
): Promise<UploadedFiles> {
  const input = at(path, options);
  return sending(http, archive, options.signal, (body) =>
    http.call(fileOperations.uploadBatch, { ...input, ...body }),
  );
}

async function mkdir(http: Http, path: string, options: FileOptions): Promise<void> {
  await http.call(fileOperations.makeFolder, at(path, options));
}

async function move(
  http: Http,
  body: { readonly from: string; readonly to: string; readonly overwrite: boolean },
  { session: session_id, signal }: FileOptions,
): Promise<void> {
  await http.call(fileOperations.moveEntry, { query: { session_id }, body, signal });
}

async function remove(http: Http, path: string, isRecursive: boolean, options: FileOptions): Promise<void> {
  const { query, signal } = at(path, options);
  const recursive = isRecursive ? "true" : undefined;
  await http.call(fileOperations.removeEntry, { query: { ...query, recursive }, signal });
}

class Download implements FileDownload {
  readonly size: number;
  readonly version: string | undefined;
  readonly #response: Response;
  readonly #signal: AbortSignal | undefined;

  constructor(response: Response, signal: AbortSignal | undefined) {
    const { headers } = response;
    this.size = Number(headers.get("content-range")?.split("/")[1] ?? headers.get("content-length"));
    this.version = headers.get("etag") ?? undefined;
    this.#response = response;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    return bytesOf(this.#response.body, { signal: this.#signal });
  }

  text(): Promise<string> {
    return responseText(this.#response, this.#signal);
  }

  async cancel(): Promise<void> {
    await this.#response.body?.cancel();
  }
}

/** Sends a body and ends its source with it, also where the server refuses before all is sent. */
async function sending<Result>(
  http: Http,
  content: FileContent,
  given: AbortSignal | undefined,
  send: (input: Abortable & { readonly content: RequestContent }) => Promise<Result>,
): Promise<Result> {
  const isWhole = typeof content === "string" || content instanceof Uint8Array || content instanceof Blob;
  if (isWhole) return send({ content, signal: given });
  const end = new AbortController();
  const signal = given ? AbortSignal.any([given, end.signal]) : end.signal;
  const stream = streamOf(content, (error) => end.abort(error));
  try {
    // A stream cannot be sent again: its token is renewed before, if it has expired.
    if (http.isRenewable) await http.call(selfOperations.getSelf, { signal });
  } catch (error) {
    await stream.cancel();
    throw error;
  }
  try {
    // The platform does not end the source when it fails to send; the pipe does.
    return await send({ content: stream.pipeThrough(new TransformStream(), { signal }), signal });
  } finally {
    end.abort();
  }
}

function streamOf(source: AsyncIterable<Uint8Array>, onError: (error: unknown) => void) {
  const chunks = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        onError(error);
        throw error;
      }
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}

function at<Path extends string | undefined>(path: Path, { session: session_id, signal }: FileOptions) {
  return { query: { path, session_id }, signal };
}

function isByte(position: number): boolean {
  return Number.isSafeInteger(position) && position >= 0;
}

/** The requests of `FilesClient`, which documents them. Loaded with the first of them, because most pages send none. */
export const fileRequests = { list, stat, read, write, uploadBatch, mkdir, move, remove };
